# Needs only Python (>= 3.11, with venv) and make: every target creates .venv first.

PYTHON ?= python3
JOBS ?= 2
TESTERS ?= 3
FLAGS ?=
VENV := .venv
OLD = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
LOWEST := .venv-lowest
BIN := $(VENV)/bin
EXPERIMENTS := $(filter-out quickstart,$(basename $(notdir $(wildcard configs/*.yaml))))

.DEFAULT_GOAL := help
.PHONY: help install dev dist version quickstart test test-slow test-browser test-latex test-lowest coverage check format bench bench-experiment reproduce-all clean $(EXPERIMENTS:%=run-%) $(EXPERIMENTS:%=reproduce-%)

help:  ## show this list
	@echo "make quickstart          three small data sets, seven criteria, a report; downloads packages only"
	@echo "make reproduce-NAME      run configs/NAME.yaml and write its report; NAME: $(EXPERIMENTS)"
	@echo "make reproduce-all       run all experiments and write results/index.html"
	@echo "make test                run the tests"
	@echo "make test-slow           run the tests that start, kill or wait for other processes for seconds"
	@echo "make test-browser        drive chromium over the pages of reports; skipped where it is not installed"
	@echo "make test-latex          compile the LaTeX tables of results/; skipped where pdflatex is not installed"
	@echo "make test-lowest         run the tests with the lowest versions that pyproject.toml allows (PYTHON=python3.11)"
	@echo "make coverage            run the tests and print the line coverage of kselect"
	@echo "make check               run ruff format --check, ruff and mypy --strict"
	@echo "make format              apply ruff's formatting and fixes"
	@echo "make dist                build sdist and wheel in dist/, and check both as a stranger would install them (FLAGS=--all: all tests)"
	@echo "make version NEW=1.0.0   set the version everywhere"
	@echo "make bench               time a selection against bare LAPACK and other programs in one run"
	@echo "make bench-experiment    time ecml2014 against bare LAPACK (FLAGS='--mirror DIR' for a2a)"
	@echo "make clean               remove .venv, .venv-lowest and caches; keep results"
	@echo "Settings: JOBS=2 (worker processes), TESTERS=3 (test processes), FLAGS='--mirror DIR' or '--offline --skip-missing', PYTHON=python3"

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kselect needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(VENV)/installed  ## install the package

dev: $(VENV)/installed-dev  ## install the package and what tests and checks need

quickstart: $(VENV)/installed
	$(BIN)/kselect run configs/quickstart.yaml --offline -j $(JOBS)
	$(BIN)/kselect report results/quickstart
	@echo "open results/quickstart/report.html; the tables are in results/quickstart/tables"

$(EXPERIMENTS:%=run-%): run-%: $(VENV)/installed
	$(BIN)/kselect run configs/$*.yaml -j $(JOBS) $(FLAGS)

$(EXPERIMENTS:%=reproduce-%): reproduce-%: run-%
	$(BIN)/kselect report results/$*

# One report over all of them draws each page once, with its link to the page over all.
reproduce-all: $(EXPERIMENTS:%=run-%)
	$(BIN)/kselect report results/

# The tests start kselect about a hundred times; compiling the package first saves doing so in each process. pytest
# needs ten seconds per process to prepare the assertions, unless it may keep the result as bytecode.
test test-slow test-lowest coverage: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/installed-dev
	@$(BIN)/python -m compileall -q kselect
	$(BIN)/pytest -n $(TESTERS) --dist worksteal

test-slow: $(VENV)/installed-dev
	$(BIN)/pytest -n $(TESTERS) --dist worksteal -m slow

$(VENV)/installed-browser: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	@touch $@

test-browser: $(VENV)/installed-browser
	$(BIN)/python tests/browser/install_axe.py $(VENV)/axe
	$(BIN)/pytest -n 2 --dist worksteal -m browser -rs tests/browser

test-latex: $(VENV)/installed-dev
	$(BIN)/pytest -rs tests/latex

# pyparsing: matplotlib 3.8 calls names that 3.3 deprecates, and the tests take warnings for errors.
$(LOWEST)/installed: pyproject.toml
	$(PYTHON) -m venv --clear $(LOWEST)
	sed -n 's/^ *"\([A-Za-z0-9-]*\)>=\([0-9.]*\).*/\1==\2/p' pyproject.toml > $(LOWEST)/lowest.txt
	echo 'pyparsing<3.3' >> $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(LOWEST)/lowest.txt -e '.[dev]'
	@touch $@

test-lowest: $(LOWEST)/installed
	$(LOWEST)/bin/pytest -n $(TESTERS) --dist worksteal -m 'not browser'

$(VENV)/installed-dist: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dist]'
	@touch $@

# The wheel is built from the sdist, which therefore has all that it needs.
dist: $(VENV)/installed-dist
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(BIN)/python tests/check_dist.py dist $(FLAGS)

# One number in five files; a test compares them.
version:
	sed -i.bak 's/"$(OLD)"/"$(NEW)"/' pyproject.toml kselect/__init__.py
	sed -i.bak 's/^version: $(OLD)/version: $(NEW)/' CITATION.cff
	sed -i.bak 's/{$(OLD)}/{$(NEW)}/' README.md kselect/guide/citing.md
	sed -i.bak 's/^## $(OLD)/## $(NEW)/' kselect/CHANGELOG.md
	rm -f $(patsubst %,%.bak,pyproject.toml kselect/__init__.py CITATION.cff README.md kselect/guide/citing.md kselect/CHANGELOG.md)
	grep -n '$(NEW)' pyproject.toml kselect/__init__.py CITATION.cff README.md kselect/guide/citing.md kselect/CHANGELOG.md

coverage: $(VENV)/installed-dev
	$(BIN)/pytest -n $(TESTERS) --dist worksteal -m 'not browser' --cov=kselect --cov-report=term:skip-covered

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(VENV)/installed-bench: $(VENV)/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]' \
		|| echo "some of the other programs cannot be installed here; the benchmark leaves them out"
	@touch $@

bench: $(VENV)/installed-bench
	$(BIN)/python tests/bench/selection.py $(FLAGS)

bench-experiment: $(VENV)/installed-dev
	$(BIN)/python tests/bench/experiment.py $(FLAGS)

clean:
	rm -rf $(VENV) $(LOWEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis
