"""The group ``cdb``, help, completion and usage errors of all commands."""

import re
import shlex
import sys
from importlib import metadata
from pathlib import Path

import click
import pytest

from cdb import __version__
from cdb.cmds.bench import bench
from cdb.cmds.cluster import cluster
from cdb.cmds.lazy_group import LazyGroup
from cdb.cmds.main import cdb
from cdb.cmds.node import node
from cdb.cmds.options import PathType
from cdb.schemas import schema_names
from cdb.schemas.registry import layout_names
from tests.conftest import Commands, contents

COMMANDS = cdb.list_commands(click.Context(cdb))
# What the console script does.
SCRIPT = "import sys; sys.argv[0] = 'cdb'; from cdb.cmds.main import main; main()"


def complete(run_command: Commands, *words: str) -> set[str]:
    """What bash offers for the last of these words, after ``cdb``."""
    completion = {
        "_CDB_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["cdb", *words]),
        "COMP_CWORD": str(len(words)),
    }
    process = run_command.popen([sys.executable, "-c", SCRIPT], env=completion)
    out, err = process.communicate(timeout=60)
    assert err == b""
    kinds = [line.partition(",")[::2] for line in out.decode().splitlines()]
    return {value for kind, value in kinds if kind == "plain"} | {
        "(files)" for kind, _ in kinds if kind == "file"
    }


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_group_lists_its_commands(run_command: Commands, option: str) -> None:
    result = run_command("main", option).fine()
    out = result.out.decode()
    assert result.err == ""
    listed = re.findall(r"^  (\w+)  +[A-Z].*\.$", out.partition("Use a database:\n")[2], re.M)
    assert listed == COMMANDS


@pytest.mark.parametrize("group", [cdb, bench, cluster, node], ids=lambda group: group.name)
def test_help_says_what_each_command_does_in_a_short_line(group: LazyGroup) -> None:
    shown = [what for each in group.sections.values() for what in each.values()]
    assert [what for what in shown if len(what) > 55] == []


def test_the_group_knows_every_command_module() -> None:
    directory = Path(__file__).parents[2] / "cdb" / "cmds"
    runnable = {
        path.stem for path in directory.glob("*.py") if "\n    run(" in path.read_text("utf-8")
    }
    grouped = {
        f"{group.name}_{name}"
        for group in (bench, cluster, node)
        for name in group.list_commands(click.Context(group))
    }
    assert runnable - {"main", "runner"} == {*COMMANDS, *grouped}


def test_no_command_takes_an_empty_path_for_the_current_directory() -> None:
    commands: list[click.Command] = []
    for group in (cdb, bench, cluster, node):
        context = click.Context(group)
        found = [group.get_command(context, name) for name in group.list_commands(context)]
        commands += [each for each in found if each is not None]
    paths = [
        parameter
        for command in commands
        for parameter in command.params
        if isinstance(parameter.type, click.Path)
    ]
    assert len(paths) > len(commands) / 2
    assert [each.name for each in paths if not isinstance(each.type, PathType)] == []


def test_the_version(run_command: Commands) -> None:
    try:
        version = metadata.version("coinset-db")
    except metadata.PackageNotFoundError:
        pytest.skip("cdb is not installed, but only on the path")
    assert run_command("main", "--version").fine().out.decode() == f"cdb, version {version}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help(run_command: Commands, name: str) -> None:
    alone = run_command(name, "--help").fine()
    in_group = run_command("main", name, "--help").fine()
    assert alone.err == in_group.err == ""
    usage, *rest = alone.out.decode().splitlines()
    group_usage, *group_rest = in_group.out.decode().splitlines()
    assert usage.startswith("Usage: ")
    assert group_usage.split()[-1] == usage.split()[-1]
    without_short = [line.replace("-h, --help", "--help") for line in group_rest]
    assert [line.split() for line in without_short] == [line.split() for line in rest]
    assert contents(run_command.cwd) == {}


def test_a_command_in_the_group_does_what_it_does_alone(run_command: Commands) -> None:
    alone = run_command("make_replay", "--coins", 50).fine()
    assert run_command("main", "make_replay", "--coins", 50).fine().out == alone.out
    loaded = run_command("main", "load_blocks", "memory", input=alone.out).fine()
    assert "digest" in loaded.err
    assert run_command("main", "dump_blocks", "memory").fine().out == alone.out
    error = run_command("main", "dump_blocks", "memory", "--db", "nowhere").error()
    assert "nowhere" in error


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["lo"], {"load_blocks"}),
        ([""], set(COMMANDS)),
        (["load_blocks", "sq"], {"sqlite_v3", "sqlite_row", "(files)"}),
        (["dump_blocks", ""], {*schema_names(), *layout_names(), "(files)"}),
        (["verify", "memory", "m"], {"(files)"}),
        (
            ["verify", "memory", "--against", "ro"],
            {name for name in schema_names() if name.startswith("ro")},
        ),
        (["load_blocks", "memory", "--durability", "p"], {"power", "process"}),
        (["load_blocks", "xyz"], {"(files)"}),
        (["load_blocks", "memory", "--ma"], set()),
    ],
)
def test_completion(run_command: Commands, words: list[str], offered: set[str]) -> None:
    assert complete(run_command, *words) == offered


@pytest.mark.parametrize("written", ["make-replay", "makereplay", "Make_Replay"])
def test_a_commands_words_may_be_joined_otherwise(run_command: Commands, written: str) -> None:
    line = ("--coins", 10)
    assert run_command("main", written, *line).fine() == run_command("make_replay", *line)


def test_the_version_is_that_of_the_command(run_command: Commands) -> None:
    assert run_command("main", "--version").fine().out.endswith(b" %b\n" % __version__.encode())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("main", "Usage"),
        ("main nonsense", "No such command 'nonsense'."),
        ("main load_block", "No such command 'load_block'. Did you mean 'load_blocks'?"),
        ("main bench nde", "No such command 'nde'. Did you mean 'node'?"),
        ("main --nonsense", "No such option"),
        ("load_blocks", "Missing argument 'SCHEMA'"),
        ("load_blocks memory there more", "unexpected extra argument (more)"),
        ("load_blocks memory there --db here", "unexpected extra argument (there)"),
        ("verify memory ''", "the path is empty"),
        ("load_blocks memory --nonsense", "No such option"),
        ("load_blocks memory --max-blocks", "requires an argument"),
        ("load_blocks memory --heights", "requires an argument"),
        ("load_blocks memory --max-blocks=-1", "--heights"),
        ("load_blocks memory --heights many", "--heights"),
        ("load_blocks memory --heights 1_0.5", "--heights"),
        ("load_blocks memory --flush-every 0", "--flush-every"),
        ("load_blocks memory --durability strong", "--durability"),
        ("load_blocks memory --input .", "is a directory"),
        ("dump_blocks", "Missing argument 'SCHEMA'"),
        ("dump_blocks memory --heights=-1", "--heights"),
        ("coins memory --spent-at 3 --json --csv", "give one of --json and --csv"),
        ("verify", "Missing argument 'SCHEMA'"),
        ("verify memory --against", "requires an argument"),
        ("schemas extra", "unexpected extra argument"),
        ("make_replay --coins 0", "--coins"),
        ("make_replay --heights 0", "--heights"),
        ("make_replay --heights 4294967297", "--heights"),
        ("make_replay --seed -1", "--seed"),
        ("demo --coins 0", "--coins"),
        ("demo --dir nowhere", "does not exist"),
    ],
)
def test_usage_errors(run_command: Commands, line: str, problem: str) -> None:
    assert problem in run_command(*shlex.split(line)).usage_error()
    assert contents(run_command.cwd) == {}


def all_commands() -> dict[str, click.Command]:
    """Each command that does something, by what is typed."""
    found = {}
    groups = ((cdb, "cdb"), (bench, "cdb bench"), (cluster, "cdb cluster"), (node, "cdb node"))
    for group, prefix in groups:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if not isinstance(command, click.Group):
                found[f"{prefix} {name}"] = command
    return found


def examples(text: str) -> list[str]:
    """The commands in the examples of a help text, each with its words."""
    lines = text.partition("Example")[2].partition("\n")[2].partition("\n\n")[0]
    joined = lines.replace("\\\n", " ").splitlines()
    parts = [
        part.strip() for line in joined for part in re.split(r"\||&&|;", line.partition("  ")[2])
    ]
    return [part.removeprefix("sudo ") for part in parts if part]


@pytest.mark.parametrize("typed", all_commands())
def test_examples_can_be_typed(typed: str) -> None:
    commands = all_commands()
    text = commands[typed].help or ""
    named = [each for each in examples(text) if each.startswith("cdb")]
    assert named, "there is no example"
    for example in named:
        words = shlex.split(example.partition(">")[0], comments=True)
        name = next(n for n in (" ".join(words[:3]), " ".join(words[:2])) if n in commands)
        known = {option for each in commands[name].params for option in each.opts}
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert options <= known, example


def test_what_shows_progress_can_be_quiet() -> None:
    telling = {
        *("backup", "demo", "dump_blocks", "info", "load_blocks", "make_replay", "migrate"),
        *("restore", "verify", "coins", "bench run"),
    }
    commands = all_commands()
    for name in telling:
        assert any("--quiet" in each.opts for each in commands[f"cdb {name}"].params), name


def test_the_old_name_of_heights_still_works_and_is_not_shown(
    run_command: Commands,
) -> None:
    new = run_command("make_replay", "--heights", 30).fine()
    assert run_command("make_replay", "--max-blocks=30").fine() == new
    for name in ("make_replay", "load_blocks", "dump_blocks"):
        shown = run_command(name, "--help").fine().out.decode()
        assert "--heights N" in shown
        assert "max-blocks" not in shown
