# Each target needs only Python 3.11: it creates .venv and installs the pinned dependencies.
PYTHON ?= python3
VENV := .venv
ADDRESS ?= localhost:8000
BIN := $(VENV)/bin
DEMO := runs/demo-$(shell date +%Y%m%d-%H%M%S)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $(PIP_OPTIONS)
NOTICE := Installing into $(VENV), which takes minutes the first time. On Linux, PyPI's PyTorch is a CUDA build of several \
	gigabytes; the section 'Installing with pip' of README.md selects a smaller build.
# A strict editable install lists modules by name, so a new file needs a reinstall.
SOURCES := setup.py pyproject.toml constraints.txt \
	$(wildcard nasbench1shot1/*.py nasbench1shot1/*/*.py nasbench1shot1/*/*/*.py search_spaces/*.py optimizers/*.py optimizers/*/*.py experiments/*.py experiments/*/*.py)

# Not ".": users save their own scripts beside the README.
CODE := setup.py mkdocs_hooks.py nasbench1shot1 search_spaces optimizers experiments tests benchmarks examples docs

.PHONY: demo test lint pytest docs explore bench clean

demo: $(VENV)/.core  ## search on the bundled images and table; draws the regret curve
	@echo "A search on the bundled images takes about 35 to 100 s on one core."
	$(BIN)/nb1shot1 search --scale quick --out $(DEMO)
	@echo "The architecture of epoch 0 comes from the random initial Λ. A single search at the quick scale does not show whether searching helps: see docs/scales.md."
	@echo "To write a web page with the curves and cells of this search, run: $(BIN)/nb1shot1 report $(DEMO) --html $(DEMO).html"

test: $(VENV)/.dev  ## lint, type check and tests
	$(MAKE) --no-print-directory --jobs 2 lint pytest  # mypy is single-threaded

# Longest modules first (tests/conftest.py). Bytecode is cached, also for processes started by tests. The first command
# fills the cache beside the linters; otherwise, each process of the second command would compile all test modules.
pytest: export OMP_NUM_THREADS := 1
pytest: export PYTHONDONTWRITEBYTECODE :=
pytest: $(VENV)/.dev
	-$(BIN)/python -m pytest --collect-only > /dev/null
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadscope --no-loadscope-reorder

explore: $(VENV)/.dev  ## property tests with new random examples; a failure prints how to repeat it
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m hypothesis --hypothesis-profile explore --numprocesses auto --maxprocesses 8

lint: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	cd docs && $(abspath $(BIN))/mypy --config-file ../pyproject.toml  # in another folder, so that mypy reads the installed package
	cd docs && $(abspath $(BIN))/mypy --config-file ../pyproject.toml ../tests/helpers/user_scripts  # documented use has precise types
	cd docs && $(abspath $(BIN))/lint-imports --no-logo --no-cache --config ../pyproject.toml

# tests/test_site.py builds the site, too, and tests it in a browser.
docs: $(VENV)/.dev  ## build the site of the documentation and serve it on this machine until Ctrl-C; renews edited pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --strict --livereload --dev-addr $(ADDRESS)

bench: $(VENV)/.dev  ## benchmarks that need only this machine
	$(BIN)/python benchmarks/supernet_speed.py
	$(BIN)/python benchmarks/weighted_sum.py
	$(BIN)/python benchmarks/fused_projections.py
	$(BIN)/python benchmarks/start_up.py

$(VENV)/.core: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "$(NOTICE)"
	$(INSTALL) --config-settings editable_mode=strict --editable .
	touch $@

$(VENV)/.dev: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "$(NOTICE)"
	$(INSTALL) --config-settings editable_mode=strict --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
