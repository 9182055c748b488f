# Each target works from a bare machine with Python 3.11: it builds .venv and installs what the project pins.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $(PIP_OPTIONS)
# A strict editable install lists the modules by name, so a new file needs a new install.
SOURCES := setup.py pyproject.toml constraints.txt \
	$(wildcard nasbench1shot1/*.py nasbench1shot1/*/*.py nasbench1shot1/*/*/*.py search_spaces/*.py optimizers/*.py optimizers/*/*.py experiments/*.py experiments/*/*.py)

.PHONY: demo test lint pytest bench clean

demo: $(VENV)/.core  ## a search on what the package carries, in minutes; ends with a picture of the regret curve
	$(BIN)/nb1shot1 search --scale quick --out runs/demo-$$(date +%Y%m%d-%H%M%S)

test: $(VENV)/.dev  ## lint, types, tests, these in a process per core: each computes with one thread, or they would wait for one another
	$(MAKE) --no-print-directory --jobs 2 lint pytest  # mypy has only one thread

# Longest first (tests/conftest.py). Modules are compiled once, also for the processes that tests start.
pytest: $(VENV)/.dev
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadscope --no-loadscope-reorder

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd docs && $(abspath $(BIN))/mypy --config-file ../pyproject.toml  # elsewhere, so that it reads the installed package
	cd docs && $(abspath $(BIN))/lint-imports --no-logo --no-cache --config ../pyproject.toml
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # the site of docs/, into build/site

bench: $(VENV)/.dev  ## the benchmarks that need nothing but this machine
	$(BIN)/python benchmarks/supernet_speed.py
	$(BIN)/python benchmarks/weighted_sum.py
	$(BIN)/python benchmarks/fused_projections.py
	$(BIN)/python benchmarks/start_up.py

$(VENV)/.core: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --config-settings editable_mode=strict --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(INSTALL) --config-settings editable_mode=strict --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
