# make demo: installs what is missing and runs the main job on the shipped panel.
# make test: installs what is missing and runs all tests, then R CMD check.
# make help: the others.

RSCRIPT = Rscript
LIB = $(CURDIR)/.lib
# Files compiled at a time.
JOBS = 2
# Byte code takes four fifths of an installation of what is compiled: only what is timed gets it.
BYTE_CODE = 0
bench bench-databases tables reproduce: BYTE_CODE = 1
TARBALL = $(shell awk '$$1 == "Package:" {p = $$2} $$1 == "Version:" {v = $$2} END {print p "_" v ".tar.gz"}' DESCRIPTION)

# What clang-format keeps in order: the core, the glue, the paper's loops; not what Rcpp writes.
CORE = $(filter-out src/RcppExports.cpp, \
  $(wildcard inst/include/dpsc/*.hpp inst/include/dpsc/*/*.?pp inst/reproduction/*.hpp \
  inst/reproduction/*.cpp src/*.cpp src/*.h))

.PHONY: help demo test tarball library cran weight compare-tests test-databases test-mpi bench-databases unit core machines lint format format-check bench tables audit sanitize reproduce install \
  document site clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## the main job: prints a fit and writes demo/plot.png (4 minutes)
	@tools/install-missing demo
	@JOBS=$(JOBS) tools/tarball "$(LIB)/check"
	@R_LIBS="$(LIB)/check:$$R_LIBS" $(RSCRIPT) demo/demo.R

test: ## lint, format, the core's tests, the package's tests, R CMD check of the built tarball
	@tools/install-missing test
	@JOBS=$(JOBS) $(RSCRIPT) tools/run-tests.R

tarball: ## dpsc_<version>.tar.gz by R CMD build, with its vignettes (4 minutes)
	@tools/install-missing tarball
	@JOBS=$(JOBS) tools/tarball

library: ## the tarball into your own library (R's first), with help and vignettes (4 minutes)
	@tools/install-missing tarball
	@JOBS=$(JOBS) tools/tarball "$$($(RSCRIPT) -e 'cat(.libPaths()[1])')"

cran: tarball ## R CMD check of the tarball as CRAN does it, all tests
	@$(RSCRIPT) tools/check-tarball.R $(TARBALL)

weight: tarball ## what the package weighs; writes bench/results/weight.csv
	@JOBS=$(JOBS) tools/tarball "$(LIB)/check" >/dev/null
	@R_LIBS="$(LIB)/check:$$R_LIBS" $(RSCRIPT) tools/weight.R $(TARBALL)

compare-tests: ## which tests and expectations went since a commit: make compare-tests SINCE=main
	@$(RSCRIPT) tools/compare-tests.R $(SINCE)

unit: install ## one file of tests: make unit FILE=test-ledger
	@test -n "$(FILE)" || { echo "Say which: make unit FILE=test-ledger"; exit 1; }
	@R_LIBS="$(LIB):$$R_LIBS" NOT_CRAN=true $(RSCRIPT) -e 'testthat::test_file("tests/testthat/$(basename $(notdir $(FILE))).R", package = "dpsc", load_package = "installed", stop_on_failure = TRUE)'

test-databases: install ## Postgres and DuckDB for real: starts a server of its own (a minute)
	@tools/test-databases

test-mpi: ## rows on several ranks of MPI, over the core (a minute)
	@tools/test-mpi

bench-databases: install ## donors elsewhere, 1e6 x 24; writes bench/results/databases.csv (10 minutes)
	@tools/test-databases Rscript bench/databases.R

core: ## the C++ core without R: an example, its tests, short under sanitizers (2 minutes)
	@tools/core

machines: ## the core's tests by g++, clang and on an emulated arm64; writes bench/results/machines.csv (20 minutes)
	@tools/machines

lint: ## style of R code by .lintr
	@$(RSCRIPT) tools/lint.R

format: ## clang-format, in place, over the core and the glue
	clang-format -i $(CORE)

format-check: ## is C++ as clang-format leaves it?
	@tools/format-check $(CORE)

install: ## the package into .lib, without help pages and vignettes, for work on it (3 minutes, then what changed)
	@mkdir -p "$(LIB)"
	@echo "Compiling and installing dpsc into .lib (3 minutes on two cores at first, then what changed)"
	@$(RSCRIPT) tools/stale.R
	@R_COMPILE_PKGS=$(BYTE_CODE) MAKE="$(MAKE) -j$(JOBS)" R CMD INSTALL --no-docs --no-test-load --library="$(LIB)" . > .lib/install.log 2>&1 || { cat .lib/install.log; exit 1; }

bench: install ## accuracy, speed and memory; writes bench/results
	@for script in accuracy battery coverage-vertical plan speed panel classical reproduction streams selection; do \
	  echo "bench/$$script.R"; R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) bench/$$script.R || exit 1; done

tables: install ## result tables whose code changed, made anew (hours; ONLY="lm glm": these)
	@R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) tools/tables.R $(ONLY)

audit: install ## privacy audits with many runs, and the long tests; writes bench/results/audit.csv (15 minutes)
	@R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) tools/long-tests.R
	@R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) tools/audit.R

sanitize: install ## the C++ core under sanitizers and valgrind, the parsers under fuzz (3 minutes)
	@tools/sanitize
	@R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) tools/fuzz.R

reproduce: install ## the paper's section 8: tables and figures in inst/reproduction
	@R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) inst/reproduction/reproduce.R

document: ## NAMESPACE, man/ and the glue that Rcpp writes
	$(RSCRIPT) tools/document.R

site: install ## the site in site/, without warnings, and a check of its links
	@R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) tools/build-site.R
	@$(RSCRIPT) tools/check-links.R site

clean: ## removes what was built
	rm -rf .lib site dpsc_*.tar.gz dpsc.Rcheck src/*.o src/*.so
