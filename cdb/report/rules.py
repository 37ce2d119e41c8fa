"""By which rules figures come about, and what they don't say: the same words in every document."""

WORDS = (
    ("schema", "a way to store coins, such as coin_log; blockchain_v2 is the full node's own."),
    (
        "load",
        "blocks are read from text, checked, stored, and flushed each 50,000 coins or as is said.",
    ),
    (
        "floor",
        "a reference, no schema: it reads, parses and names the coins, appends 80 bytes of each to "
        "a file, and syncs. It checks and finds nothing. Who writes fewer bytes can be below it.",
    ),
    ("survives power loss", "a flush returns once the disk has the data: POWER in commands."),
    ("in memory, not in memory", "whether the operating system has the files cached: warm, cold."),
    ("compaction", "merging that a load leaves to be done: before it unsettled, after it settled."),
    ("packed", "answers as bytes for a program, in place of Python objects."),
    ("profile", "what limits the disk and the memory: FAST is the machine as it is."),
    ("memory", "the most that the process has of it in a load, with mapped pages of its files."),
    ("–", "not measured, or the schema cannot do it."),
    ("†", "fewer than five runs, where the others have five or more."),
)
"""What terms mean, before they are used."""

RULES = (
    "Only runs of one machine, profile, replay, durability and flush interval are compared.",
    "A run is a fresh directory; each of its workloads is a fresh process.",
    "Every answer is checked. A schema with a wrong one (✗) has no figures at all.",
    "A case that failed in any run has no figures: those of the runs that ended would flatter.",
    "Figures are min / median / max, or the median. † means fewer than five runs, where others "
    "have as many; how many runs there are is said with the figures.",
    "× best is the median against the best median of the same group. The floor, and schemas that "
    "keep nothing, are no contestants.",
    "The floor is a reference: it reads, parses and names the same coins, appends 80 bytes of each "
    "to a file, and syncs. Nothing is checked there, and nothing could be looked up. On a slow "
    "disk a schema that writes fewer bytes is faster. Ratios to it (× floor) are to its load in "
    "the same round. Write amplification is bytes written against those 80 bytes a coin, counted "
    "as near to the device as all schemas of a group were.",
    "memory is the reference model, which keeps everything in memory: it is measured, and named as "
    "the best in nothing.",
    "For look-ups with files not in memory the process is new, and its files were dropped.",
    "Of several matrices the newest counts, for each schema. All of them can be compared with each "
    "other by cdb report --compare.",
    "Schemas to choose from are all but layouts, options, and engines that have no use of their "
    "own to tell. There is no score: what counts is a question of use.",
)
LIMITS = (
    "One machine's figures are that machine's. Those of a busy machine are wrong, and marked.",
    "A profile limits a real disk and memory. Latencies below its limits are this machine's.",
    "Ranges that overlap show no difference. Ranges of few runs are narrower than those of many.",
    "The page cache of a host below a virtual machine is out of reach: cold may be warmer than it "
    "looks.",
    "Bytes in write calls leave out pages written through mappings; bytes at the device are of all "
    "who wrote to it meanwhile.",
    "Replays that were made have mainnet's shape; they are not mainnet.",
)
NODE_WORDS = (
    "chia is chia-blockchain's own coin store, cdb is cdb.chia.CoinStore. Both have the same chain "
    "and hints, get the same calls, in turns, and gave the same answers. A time is the mean of all "
    "calls of a round; shown are the rounds' least, median and greatest. CPU is of all threads of "
    "the process. Warm: files in memory. Cold: the store was just opened, and its files were "
    "dropped from there. Event loop: how much later than asked a task wakes that sleeps 1 ms again "
    "and again, while the loop does nothing, and while it adds blocks."
)
WEEK_WORDS = (
    "chia's own coin store lived through it first, and then cdb.chia.CoinStore, each on a new "
    "file: it synced a chain from its first block on, each block in a transaction after a look-up "
    "of what it spends; the hints of these blocks came after them, to be told apart: they go into "
    "chia's own hint store, in the same file, in both cases; it followed the tip, hints included, "
    "where each twentieth time a branch of up to 6 blocks was given up for another; and it "
    "followed the tip while wallets asked, all requests at once beside each block. Both had the "
    "same blocks and hints, and gave the same answers; of those to wallets what was true before "
    "they began is compared. Only transaction blocks are counted, and only coins and hints are "
    "stored. Wall is what a node waits for; written what its process sends to the disk; a stall "
    "how much later than asked a task wakes that sleeps 5 ms again and again. Memory that a "
    "profile names includes the page cache."
)
LAYOUTS_WORDS = (
    "Two comparisons of key layouts were published with wrong answers in them. Here the same "
    "layouts read rightly, in the shapes that were published: many versions of a key, below the "
    "coin set, whose coins have two. Each version is one commit that survives power loss; each "
    "answer is held against a model, and a wrong or missing one voids the row (✗). Times are of a "
    "whole workload, with files in memory. latest: all newest values, scanned. historical: each "
    "key got, as of a version, in batches of 1,000. absent: as many keys that are not there. "
    "state: all values as of a version, scanned. archival: all versions, scanned. published / X "
    "is how many times as long theirs took as X here: as its CPU, as reads are one thread's and in "
    "memory, or, for writing, as it by the clock. Theirs is another machine, which is not told, "
    "and partly read wrong: how layouts stand to each other says more than these ratios."
)
