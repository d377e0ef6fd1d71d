# One command each. Everything lives in a virtual environment inside the checkout.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
# Tests side by side, a lane for each core; LANES= for one after the other.
LANES := -n auto --dist worksteal

.PHONY: help demo test test-slow kills fuzz soak test-machines test-oldest test-sdist test-extras coverage paper docs bench bench-save bench-compare study sparse missing real mutants dist release lint types format check clean

help:
	@echo "make demo       install, then run the main job on embedded data (figure and report in out/)"
	@echo "make test       install, then run all tests"
	@echo "make test-slow  the larger random suites as well (minutes)"
	@echo "make kills      kill the program at 100 random moments, and look at what is left (minutes)"
	@echo "make soak       1 000 fits of mixed shapes in one process: memory returns (minutes)"
	@echo "make fuzz       damaged files over every reader, 10 000 of each format, about 10 minutes (FUZZ='--files 500 npz mtx'; it goes on where it was stopped)"
	@echo "make test-machines  the numerical tests as on other processors and numbers of cores, and on the oldest versions"
	@echo "make test-sdist  build the source distribution and collect the tests that it carries"
	@echo "make test-extras  the wheel alone, and with each extra alone, in environments of their own; reproducible builds"
	@echo "make coverage   branches of src/ that the tests reach; below 95 % is an error"
	@echo "make paper      reproduce the paper's figures that need no restricted data (figures in out/paper)"
	@echo "make docs       the documentation, with a gallery that is run (docs/_build/html)"
	@echo "make lint       ruff: style and format"
	@echo "make types      mypy on src/"
	@echo "make check      lint, types and tests: what CI runs"
	@echo "make bench      time and memory against PCA and other packages, as ratios (bench-save: renew the docs)"
	@echo "make bench-compare A=v0.1.0 B=HEAD  two commits in turns: time and memory (COMPARE='--only wide --repeats 3')"
	@echo "make study      is the test of uniqueness right? simulations, 90 minutes (STUDY=--quick: minutes; STUDY=--save: renew the docs)"
	@echo "make sparse     sparse components: proofs, time, other ways to them, minutes (SPARSE=--save: renew the docs)"
	@echo "make missing    what gaps do to components, by filling and by EM (MISSING=--save: renew the docs; MISSING=--levels: of the test; --coverage: of intervals)"
	@echo "make real       which method finds labels that it was not shown? 16 settings of real data, 20 minutes (REAL='--splits 2': quicker; REAL=--save: renew the docs)"
	@echo "make mutants    faults planted in the code, a random sample in each package: are they noticed? (MUTANTS='--number 100 --seed 1')"
	@echo "make dist       source distribution and wheel in out/dist, checked by twine"
	@echo "make release VERSION=X.Y.Z  is everything ready? checks, build, install (RELEASE=--tag: make the tag; nothing is pushed)"
	@echo "make format     let ruff rewrite the files"

# A stamp for each set of extras, so that nothing is installed twice and a change of pyproject.toml installs anew.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit("uca needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[demo,cli]'
	@touch $@

$(VENV)/.test: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/python -m uca.demo --out out

test: $(VENV)/.test
	$(BIN)/python -m pytest $(LANES)

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest $(LANES) -m "not environments"

# A hundred processes killed at random moments, and a thousand fits in one process.
kills: $(VENV)/.test
	UCA_KILLS=100 $(BIN)/python -m pytest -n 0 -s tests/test_faults.py -k random_moments

soak: $(VENV)/.test
	UCA_SOAK=1000 $(BIN)/python -m pytest -n 0 -s tests/test_soak.py

# State and files that failed are in out/fuzz; remove it to begin anew.
fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzz.run $(FUZZ)

# Kernels of other processors, numbers of BLAS threads and of workers; then the oldest versions of everything.
test-machines: $(VENV)/.test test-oldest
	$(BIN)/python tests/machines.py

$(OLDEST)/.test: tests/oldest.txt pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --requirement tests/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

test-oldest: $(OLDEST)/.test
	$(OLDEST)/bin/python -m pytest -q -p no:cacheprovider $(LANES) $$($(OLDEST)/bin/python tests/machines.py --list)

# What a packager gets: the archive alone, unpacked elsewhere.
test-sdist: $(VENV)/.test
	$(BIN)/python -m pip install --quiet build
	rm -rf out/sdist && $(BIN)/python -m build --sdist --outdir out/sdist >/dev/null
	tar -xzf out/sdist/*.tar.gz -C out/sdist
	cd out/sdist/*/ && (PYTHONPATH=src $(abspath $(BIN))/python -m pytest --collect-only -q -p no:cacheprovider >../collected.txt \
	  || (tail -n 60 ../collected.txt; exit 1)) && tail -n 1 ../collected.txt

# Strangers' environments. EXTRAS="io mne": some of them.
test-extras: $(VENV)/.test
	$(BIN)/python -m pip install --quiet build uv
	EXTRAS="$(EXTRAS)" $(BIN)/python -m pytest -q -p no:cacheprovider -m environments tests/test_extras.py

coverage: $(VENV)/.test
	$(BIN)/python -m pip install --quiet pytest-cov
	$(BIN)/python -m pytest -q -p no:cacheprovider $(LANES) --cov --cov-report=term-missing:skip-covered

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint types test

$(VENV)/.paper: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[paper]'
	@touch $@

# The mouse and London data are looked for in UCA_DATA, then in the cache; the mouse data is downloaded if it is absent.
paper: $(VENV)/.paper
	$(BIN)/uca reproduce mice-single --out out/paper
	$(BIN)/uca reproduce mice-multi --out out/paper
	$(BIN)/uca reproduce faces --out out/paper
	$(BIN)/uca reproduce timing --out out/paper

bench: $(VENV)/.test
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/paper.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/startup.py

# The same, and renew the figures in the docs (25 minutes, 8 GB on disk for a while).
bench-save: $(VENV)/.test
	$(BIN)/python benchmarks/scale.py --save

bench-compare: $(VENV)/.test
	@test -n "$(A)" -a -n "$(B)" || (echo "which commits? make bench-compare A=v0.1.0 B=HEAD"; exit 2)
	$(BIN)/python benchmarks/compare_commits.py $(A) $(B) $(COMPARE)

# Levels, power and errors of uca.inference. Mouse data is looked for in UCA_DATA, then in the cache.
study: $(VENV)/.test
	$(BIN)/python -W ignore -m benchmarks.inference.study $(STUDY)

# Sparse components. Mouse data is looked for in UCA_DATA, then in the cache.
sparse: $(VENV)/.test
	$(BIN)/python -m benchmarks.sparse.study $(SPARSE)

# Figures of docs/missing-values.md. Mouse data is looked for in UCA_DATA, then in the cache.
missing: $(VENV)/.test
	$(BIN)/python -W ignore -m benchmarks.missing $(MISSING)

$(VENV)/.real: $(VENV)/.test benchmarks/real/requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --requirement benchmarks/real/requirements.txt
	@touch $@

# Figures of docs/real-data.md. Mice and London faces are looked for in UCA_DATA, then in the cache; what is absent is skipped.
real: $(VENV)/.real
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.real.study $(REAL)

# docs/how-we-test.md. Outcomes are kept in out/mutants; the working copy is not touched.
mutants: $(VENV)/.test
	$(BIN)/python -W ignore -m tools.mutants $(MUTANTS)

$(VENV)/.docs: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# Pages and the gallery, whose examples run; a warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

dist: $(VENV)/.created
	$(BIN)/python -m pip install --quiet build twine
	rm -rf out/dist && $(BIN)/python -m build --outdir out/dist >/dev/null
	$(BIN)/python -m twine check --strict out/dist/*

# docs/releasing.md
release: $(VENV)/.created
	@test -n "$(VERSION)" || (echo "which version? make release VERSION=X.Y.Z"; exit 2)
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python tools/release.py $(VERSION) $(RELEASE)

clean:
	rm -rf docs/_build docs/gallery docs/sg_execution_times.rst
	rm -rf $(VENV) $(OLDEST) out .mypy_cache .pytest_cache .ruff_cache .hypothesis
