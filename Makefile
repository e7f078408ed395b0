# Every target works from a fresh clone: it makes .venv and installs what it needs, pinned by constraints.txt.

PYTHON ?= python3
VENV := .venv
COUNT ?= 20000
PY := $(VENV)/bin/python
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check docs-rules bench harm fuzz kill fidelity cassettes judge usage-report clean

demo: $(VENV)/.demo
	$(PY) examples/demo.py
	$(PY) examples/resume.py

test: $(VENV)/.dev
	$(PY) -m pytest

check: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) docs/generate.py --check
	$(PY) -m pytest

# Writes docs/rules and docs/errors.md from the docstrings and tables.
docs-rules: $(VENV)/.dev
	$(PY) docs/generate.py

bench: $(VENV)/.dev
	$(PY) benchmarks/bench_repair.py
	$(PY) benchmarks/bench_usage.py
	$(PY) benchmarks/bench_sessions.py

harm: $(VENV)/.dev
	$(PY) -m tests.harm

fuzz: $(VENV)/.dev
	$(PY) -m tests.fuzz $(COUNT)

fidelity: $(VENV)/.dev
	$(PY) -m tests.sandbox.fidelity

# LIVE=1 records against the real providers whose keys are in the environment.
cassettes: $(VENV)/.dev
	LIVE=$(LIVE) $(PY) -m tests.sandbox.record

judge: $(VENV)/.dev
	LITELLM_LOCAL_MODEL_COST_MAP=True $(PY) -m tests.sandbox.judge

# Exactness on recorded usage, beside LiteLLM, LangChain and genai-prices.
usage-report: $(VENV)/.report
	PYTHONPATH=. $(PY) benchmarks/usage_report.py

kill: $(VENV)/.dev
	$(PY) -m tests.kill

clean:
	rm -rf $(VENV)

$(PY):
	$(PYTHON) -m venv $(VENV)

# The small install: what the demo needs, and no test tools.
$(VENV)/.demo: pyproject.toml constraints.txt | $(PY)
	$(INSTALL) -e ".[demo]"
	touch $@

$(VENV)/.report: $(VENV)/.dev
	$(INSTALL) -e ".[report]"
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(PY)
	$(INSTALL) -e ".[dev]"
	touch $@
