# With nothing but Python (>= 3.11, with venv) and make: every target sets up .venv first.

PYTHON ?= python3
JOBS ?= 2
TESTERS ?= 3
FLAGS ?=
VENV := .venv
BIN := $(VENV)/bin
EXPERIMENTS := $(filter-out quickstart,$(basename $(notdir $(wildcard configs/*.yaml))))

.DEFAULT_GOAL := help
.PHONY: help install dev quickstart test check format bench bench-experiment reproduce-all clean $(EXPERIMENTS:%=reproduce-%)

help:  ## show this list
	@echo "make quickstart          three small data sets, seven criteria, a report: needs no network but the packages'"
	@echo "make reproduce-NAME      run configs/NAME.yaml and write its report; NAME: $(EXPERIMENTS)"
	@echo "make reproduce-all       all of them, and results/index.html"
	@echo "make test                the tests"
	@echo "make check               ruff format, ruff, mypy --strict"
	@echo "make format              apply ruff's format and fixes"
	@echo "make bench               a selection's time against bare LAPACK and scikit-learn, in one run"
	@echo "make bench-experiment    the time of ecml2014 against bare LAPACK (FLAGS='--mirror DIR' for a2a)"
	@echo "make clean               remove .venv and caches; results stay"
	@echo "Settings: JOBS=2 (worker processes), TESTERS=3 (of make test), FLAGS='--mirror DIR' or '--offline --skip-missing', PYTHON=python3"

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kselect needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,dask]'
	@touch $@

install: $(VENV)/installed  ## the package alone

dev: $(VENV)/installed-dev  ## the package with what tests and checks need

quickstart: $(VENV)/installed
	$(BIN)/kselect run configs/quickstart.yaml --offline -j $(JOBS)
	$(BIN)/kselect report results/quickstart
	@echo "open results/quickstart/report.html; the tables are in results/quickstart/tables"

$(EXPERIMENTS:%=reproduce-%): reproduce-%: $(VENV)/installed
	$(BIN)/kselect run configs/$*.yaml -j $(JOBS) $(FLAGS)
	$(BIN)/kselect report results/$*

reproduce-all: $(EXPERIMENTS:%=reproduce-%)
	$(BIN)/kselect report results/

# The tests start kselect some hundred times; where Python may not keep what it compiles, each would compile it.
test: $(VENV)/installed-dev
	@$(BIN)/python -m compileall -q kselect
	$(BIN)/pytest -n $(TESTERS) --dist worksteal

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed-dev
	$(BIN)/python tests/bench/selection.py $(FLAGS)

bench-experiment: $(VENV)/installed-dev
	$(BIN)/python tests/bench/experiment.py $(FLAGS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
