# make demo: installs what is missing and runs the main job on the shipped panel.
# make test: installs what is missing and runs all tests, then R CMD check.
# See README.md for the others.

RSCRIPT = Rscript
LIB = $(CURDIR)/.lib
# Files compiled at a time.
JOBS = 2

.PHONY: demo test bench audit sanitize reproduce install document site clean

demo: ## the main job: prints a fit and writes demo/plot.png
	@tools/install-missing demo
	@$(MAKE) --no-print-directory install
	@R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) demo/demo.R

test: ## unit tests, then R CMD check of the built tarball
	@tools/install-missing test
	@$(MAKE) --no-print-directory install
	@R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) tools/run-tests.R

install: # into .lib, so that nothing on the machine is replaced
	@mkdir -p "$(LIB)"
	@echo "Compiling and installing dpsc into .lib (a minute)"
	@MAKE="$(MAKE) -j$(JOBS)" R CMD INSTALL --preclean --no-docs --no-test-load --library="$(LIB)" . > .lib/install.log 2>&1 || { cat .lib/install.log; exit 1; }

bench: install ## accuracy, speed and memory; writes bench/results
	@for script in accuracy coverage coverage-vertical plan speed panel classical reproduction streams selection; do \
	  echo "bench/$$script.R"; R_LIBS="$(LIB):$$R_LIBS" $(RSCRIPT) bench/$$script.R || exit 1; done

audit: install ## privacy audits with many runs; writes bench/results/audit.csv (3 minutes)
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

clean:
	rm -rf .lib site dpsc_*.tar.gz dpsc.Rcheck src/*.o src/*.so
