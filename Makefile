# Every target works from a fresh clone: it makes .venv and installs what it needs, pinned by constraints.txt.

PYTHON ?= python3
VENV := .venv
LANGCHAIN := .venv-langchain
LOWER := .venv-lower
DOCS := .venv-docs
INSTALLED := build/venv
COUNT ?= 20000
NIGHTLY ?= 1000
SEEDS ?= 40
KILLS ?= 100
RESERVATIONS ?= 1600
PROCESSES ?= 64
TRANSCRIPTS ?= 2000
MEGABYTES ?= 100
SHARE ?= 0.2
PY := $(VENV)/bin/python
# Hundreds of tests start a Python process each: compiled once, our modules are read and not compiled anew.
unexport PYTHONDONTWRITEBYTECODE
# One process for each core; a test file stays in one of them. No test may leave this machine.
PYTEST := $(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder --allow-hosts=127.0.0.1,::1 --allow-unix-socket
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check nightly twins mutants docs links docs-rules bench compare golden formats package harm field fuzz kill usage-report fidelity cassettes judge litellm-matrix litellm-identical litellm-lower test-langchain test-langchain-standard notebooks bench-langchain clean bench-sandbox bench-jobs sessions fuzz-langchain

demo: $(VENV)/.demo
	$(PY) examples/demo.py

test: $(VENV)/.dev
	$(PYTEST) -m "not showpiece"

check: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) docs/generate.py --check
	$(PYTEST) -p no:chatmend-sandbox --cov --cov-report=term:skip-covered tests/test_*.py tests/golden
	$(PYTEST) --ignore-glob="tests/test_*.py" --ignore=tests/golden
	$(MAKE) test-langchain-standard
	$(MAKE) litellm-lower

# The same properties with many examples, drawn anew; every file by itself and in another order. Under 90 minutes.
nightly: $(VENV)/.dev $(LANGCHAIN)/.ready
	CHATMEND_NIGHTLY=1 $(PYTEST) --random-order-bucket=module tests
	$(PY) -m tests.alone
	$(PY) -m tests.fuzz $(NIGHTLY)
	$(PY) -m tests.fixpoint $(NIGHTLY)
	$(PY) -m tests.images.fuzz $(NIGHTLY)
	$(PY) -m tests.harm
	$(PY) -m tests.field
	$(PY) -m tests.kill $(KILLS)
	$(PY) -m tests.litellm_adapter.identical $(NIGHTLY)
	$(LANGCHAIN)/bin/python -m tests.langchain.fuzz $(SEEDS)
	$(PY) -m tests.fuzz $(NIGHTLY) --torn

# Texts and keys of transcripts that are fine, replaced by others: each is repaired as by every rule. Some twenty minutes
# for a fifth of them; SHARE=1 takes all.
twins: $(VENV)/.dev
	$(PY) -m tests.twins $(SHARE)

# Which small changes to the source no test notices: 400 of them, always the same.
mutants: $(VENV)/.mutants
	$(PY) -m tests.mutants

# The site, in docs/_build/html. A warning is an error.
docs: $(DOCS)/.ready
	$(DOCS)/bin/python docs/generate.py --check
	$(DOCS)/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# Asks every address that the pages name; needs the internet.
links: $(DOCS)/.ready
	$(DOCS)/bin/python -m sphinx -q -b linkcheck docs docs/_build/links

# Writes docs/rules, docs/providers and docs/errors.md from the docstrings and tables.
docs-rules: $(VENV)/.dev
	$(PY) docs/generate.py

bench: $(VENV)/.dev
	$(PY) -m benchmarks.speed $(WRITE)
	$(PY) benchmarks/bench_repair.py
	$(PY) -m benchmarks.bench_shapes
	$(PY) benchmarks/bench_litellm.py
	$(PY) benchmarks/bench_usage.py
	$(PY) -m benchmarks.bench_images
	$(PY) benchmarks/bench_sessions.py
	$(PY) benchmarks/bench_cli.py

# Others and ours on the same broken transcripts; COUNT=100 for a quick look. WRITE=--write puts the tables into the pages.
compare: $(VENV)/.dev
	PYTHONHASHSEED=0 $(PY) -m benchmarks.compare $(if $(filter command line,$(origin COUNT)),$(COUNT),2000) $(WRITE)

# Pins anew what each target is sent; say so in the changelog, under Repaired output.
golden: $(VENV)/.dev
	$(PY) -m tests.golden.pinned

# Wheel and sdist: built, checked, looked into; then all tests with the installed wheel. Its environment borrows what
# stands in .venv by a path file, which does not follow the one that leads from there to src.
package: $(VENV)/.dev
	rm -rf dist build
	$(PY) -m build --no-isolation --outdir dist .
	$(PY) -m twine check --strict dist/*
	$(PY) -m tests.package dist
	$(PY) -m venv --without-pip $(INSTALLED)
	$(PY) -m pip --python $(INSTALLED)/bin/python install --quiet --disable-pip-version-check --no-deps dist/*.whl
	$(PY) -c "import sysconfig; print(sysconfig.get_path('purelib'))" > $$(echo $(INSTALLED)/lib/python3*/site-packages)/borrowed.pth
	$(INSTALLED)/bin/python -c "import chatmend, sys; assert chatmend.__file__.startswith(sys.prefix), chatmend.__file__"
	$(INSTALLED)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# What each wire format defines, read from the installed SDKs' types: src/chatmend/dialects/formats.py.
formats: $(VENV)/.dev
	$(PY) -m tests.formats

harm: $(VENV)/.dev
	$(PY) -m tests.harm

# Failures that people reported in public threads: what is repaired, by provider and class of failure.
field: $(VENV)/.dev
	$(PY) -m tests.field

fuzz: $(VENV)/.dev
	$(PY) -m tests.fuzz $(COUNT)
	$(PY) -m tests.fixpoint $(COUNT)
	$(PY) -m tests.images.fuzz $(COUNT)

kill: $(VENV)/.dev
	$(PY) -m tests.kill $(KILLS)

# The long runs of the sessions: make sessions KILLS=1000 RESERVATIONS=10000 PROCESSES=64 TRANSCRIPTS=10000
sessions: $(VENV)/.dev
	CHATMEND_KILLS=$(KILLS) CHATMEND_RESERVATIONS=$(RESERVATIONS) CHATMEND_PROCESSES=$(PROCESSES) \
	CHATMEND_SEEDS=$(TRANSCRIPTS) $(PY) -m pytest --durations=5 tests/sessions/test_processes.py tests/sessions/test_round_trip.py

# A JSONL file of so many megabytes, repaired by one process and by two: make bench-jobs MEGABYTES=1000
bench-jobs: $(VENV)/.dev
	$(PY) benchmarks/bench_jobs.py $(MEGABYTES)

fidelity: $(VENV)/.dev
	$(PY) -m tests.sandbox.fidelity

# 200 clients for a minute, and a body of 40 MB.
bench-sandbox: $(VENV)/.dev
	$(PY) benchmarks/bench_sandbox.py

# LIVE=1 records against the real providers whose keys are in the environment.
cassettes: $(VENV)/.dev
	LIVE=$(LIVE) $(PY) -m tests.sandbox.record

judge: $(VENV)/.dev
	LITELLM_LOCAL_MODEL_COST_MAP=True $(PY) -m tests.sandbox.judge
	$(PY) -m tests.images.sandboxed

# Exactness on recorded usage, beside LiteLLM, LangChain and genai-prices.
usage-report: $(VENV)/.report
	PYTHONPATH=. $(PY) benchmarks/usage_report.py

# Every entry point of LiteLLM against the sandbox, a real proxy among them.
litellm-matrix: $(VENV)/.dev
	PYTHONPATH=. $(PY) -m tests.litellm_adapter.matrix

# Recorded requests through a real proxy with chatmend and one without: the same bytes both ways. COUNT=100 for a quick look.
litellm-identical: $(VENV)/.dev
	$(PY) -m tests.litellm_adapter.identical $(if $(filter command line,$(origin COUNT)),$(COUNT),1000)

# The adapter's tests with the oldest LiteLLM that is supported.
litellm-lower: $(LOWER)/.ready
	PYTHONPATH=. $(LOWER)/bin/python -m pytest tests/litellm_adapter -p no:cacheprovider --ignore=tests/litellm_adapter/test_matrix.py --ignore=tests/litellm_adapter/test_proxy.py

# LangChain's newest packages and its own standard suites pin what the other environment cannot have.
test-langchain: $(LANGCHAIN)/.ready
	$(LANGCHAIN)/bin/python -m pytest tests/langchain docs/how-to/deepagents.md --ignore=tests/langchain/standard -p no:cacheprovider -o asyncio_mode=strict
	$(LANGCHAIN)/bin/python -m tests.langchain.matrix

test-langchain-standard: $(LANGCHAIN)/.ready
	cd tests/langchain/standard && PYTHONPATH=../../.. ../../../$(LANGCHAIN)/bin/python -m pytest -c pytest.ini --rootdir=. test_standard.py

# Broken transcripts through real partner classes: what the sandbox still refuses, with the seed.
fuzz-langchain: $(LANGCHAIN)/.ready
	$(LANGCHAIN)/bin/python -m tests.langchain.fuzz $(SEEDS)

notebooks: $(LANGCHAIN)/.ready $(VENV)/.dev
	$(PY) notebooks/build_litellm.py
	$(PY) notebooks/build_images.py
	$(PY) notebooks/build_usage.py
	$(LANGCHAIN)/bin/python -m jupyter execute --inplace notebooks/langchain.ipynb

bench-langchain: $(LANGCHAIN)/.ready
	$(LANGCHAIN)/bin/python benchmarks/bench_langchain.py

clean:
	rm -rf $(VENV) $(LANGCHAIN) $(LOWER) $(DOCS) docs/_build docs/notebooks dist build

$(LANGCHAIN)/.ready: pyproject.toml constraints-langchain.txt
	$(PYTHON) -m venv $(LANGCHAIN)
	$(LANGCHAIN)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-langchain.txt -e ".[langchain-test]"
	touch $@

$(LOWER)/.ready: pyproject.toml
	$(PYTHON) -m venv $(LOWER)
	$(LOWER)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[sandbox]" "litellm==1.82.0" wrapt pytest sybil
	touch $@

$(DOCS)/.ready: pyproject.toml constraints-docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-docs.txt -e ".[docs]"
	touch $@

$(PY):
	$(PYTHON) -m venv $(VENV)

# The small install: what the demo needs, and no test tools.
$(VENV)/.demo: pyproject.toml constraints.txt | $(PY)
	$(INSTALL) -e ".[demo]"
	touch $@

$(VENV)/.report: $(VENV)/.dev
	$(INSTALL) -e ".[report]"
	touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(INSTALL) -e ".[mutants]"
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(PY)
	$(INSTALL) -e ".[dev]"
	touch $@
