.PHONY: help demo test test-long test-suites chia-tests cluster-tests lint types native engines test-engines test-engines-long docs wheels try-wheel fuzz soak mutants asan tsan clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    load mainnet-shaped blocks into every schema and compare them"
	@echo "make test    lint, types and the tests"
	@echo "make test-long  the tests that make test leaves out: more faults, a browser, the lab itself"
	@echo "make test-suites  the longest: whole contracts and faults of all stores, layouts and options"
	@echo "make chia-tests  test cdb's coin store of a full node, also by chia's own tests; TIER=store: a part"
	@echo "make cluster-tests  test the schema cassandra on clusters of NODES=1; needs Java 17 and Maven"
	@echo "make lint    ruff's checks and format"
	@echo "make types   mypy"
	@echo "make native  build the native engines again, with what is installed now"
	@echo "make engines build the engines that are built where asked, too, as far as their tools are here"
	@echo "make engine-NAME  build one of them, such as engine-pebble"
	@echo "make test-engines  build and test them; test-engines-long: the tests that this leaves out"
	@echo "make docs    build the site of all documents, the Python API and the commands, in build/docs"
	@echo "make wheels  build a wheel that needs nothing but libc, and an sdist, in dist/"
	@echo "make try-wheel  try it in a root that has Python and nothing else; as root, by debootstrap"
	@echo "make fuzz    look for inputs that break the native code, for SECONDS=60 a TARGET, in build/fuzz"
	@echo "make soak    make faults of all kinds in all schemas, for HOURS=2"
	@echo "make mutants see how many mutants of the sources tests notice: COUNT=300, SEED=1, ONLY=path"
	@echo "make asan    test the native code with AddressSanitizer and UBSan, in build/address"
	@echo "make tsan    test the native code with ThreadSanitizer, in build/thread"
	@echo "make clean   remove .venv and everything that was built"

# cdb and its tools; made again when what they are made from changes.
.venv/ready: pyproject.toml scripts/make-venv native/CMakeLists.txt native/engine.cmake $(wildcard native/*/find.cmake) \
             $(wildcard native/*.h native/*/*.h native/*/*.cpp native/*/*.c native/*/*/*.h native/*/*/*.cpp) \
             $(wildcard native/go/*.go native/go/go.* native/rust/Cargo.* native/rust/src/*.rs)
	@scripts/make-venv

native:
	@scripts/make-venv

demo: .venv/ready
	@.venv/bin/python -m cdb.cmds.demo

# Two processes a core: tests also wait for other processes, and for disks. Each takes whole modules and
# classes, so that what their tests share is made once, in their own order: those with the most tests come
# first otherwise, and in the end all wait for a module of few and long ones. Python starts hundreds of times,
# which takes twice as long where no bytecode may be kept.
PYTEST = .venv/bin/python -m pytest -n $$((2 * $$(getconf _NPROCESSORS_ONLN))) --dist loadscope \
         --no-loadscope-reorder
test test-long test-suites: export PYTHONDONTWRITEBYTECODE =
test: lint types
	scripts/in-memory $(PYTEST) -m 'not long'

# The suites of schemas and layouts are many and alike: they are in memory, too. They are a command of
# their own with those that take longest, which build cdb again or a schema by a stranger. All others
# have files on the disk.
SUITES = tests/test_conformance.py tests/test_layouts.py tests/faults/test_layouts.py tests/faults/test_schemas.py
LONGEST = tests/mutants tests/test_built.py tests/test_adding_an_engine.py tests/cassandra \
          tests/rows/test_rocks_index.py tests/cmds/test_bench_run.py \
          $(patsubst %,tests/schemas/test_%.py,adding_a_schema theirs history exchanged coin_log)
test-long: .venv/ready
	$(PYTEST) -m long $(SUITES:%=--ignore=%) $(LONGEST:%=--ignore=%)

test-suites: .venv/ready
	scripts/in-memory $(PYTEST) -m long $(SUITES)
	$(PYTEST) -m long $(LONGEST)

engines:
	@scripts/engines

engine-%:
	@scripts/engines $*

test-engines test-engines-long: export PYTHONDONTWRITEBYTECODE =
test-engines: engines
	scripts/in-memory $(PYTEST) -m 'asked_for and not long'

test-engines-long: engines
	scripts/in-memory $(PYTEST) -m 'asked_for and long'

lint: .venv/ready
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	@scripts/check-format

types: .venv/ready
	.venv/bin/mypy

TIER ?= all
chia-tests:
	@scripts/chia-tests $(TIER)

NODES ?= 1
cluster-tests: .venv/ready
	@scripts/cluster-tests $(NODES)

docs: .venv/ready
	@scripts/docs

wheels:
	@scripts/wheels

try-wheel: .venv/ready
	@scripts/try-wheel dist/*.whl

SECONDS ?= 60
fuzz: .venv/ready
	@scripts/fuzz --seconds $(SECONDS) $(TARGET)

HOURS ?= 2
soak: .venv/ready
	@.venv/bin/cdb soak --hours $(HOURS)

mutants: .venv/ready
	@.venv/bin/python -m tests.mutants $(COUNT:%=--count %) $(SEED:%=--seed %) $(ONLY:%=--only %)

asan: .venv/ready
	@scripts/sanitize address

tsan: .venv/ready
	@scripts/sanitize thread

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	git clean -dffqX cdb native tests
