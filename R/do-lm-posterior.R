# Methods "ops" and "adaops" of dp_lm() draw once from a posterior, with rows in public units. They
# release coefficients only. Core: inst/include/dpsc/mechanism/posterior.hpp; proofs:
# inst/proofs/papers.md, sections 2 and 3.

#' @return A `dp_paper`.
#' @noRd
lm_by_posterior <- function(columns, public, table, method, settings, ledger) {
  record <- mechanism_table$dp_lm[[method]]
  reason <- if (is.list(settings)) {
    unknown_settings(settings, record$options)
  } else {
    "It must be a list."
  }
  if (!is.null(reason)) {
    abort(c("{.arg settings} is not valid for method {.val {method}}.", x = "{reason}"), "argument")
  }
  if (!is.matrix(table) || columns$weighted || public$vcov == "HC") {
    abort(paste(
      "Method {.val {method}} needs a data frame, and accepts neither {.arg weights} nor",
      "{.code vcov = \"HC\"}."
    ), "argument")
  }
  if (public$private && public$delta == 0) {
    abort("Method {.val {method}} needs {.arg delta} above 0.", "argument")
  }
  public$calibration <- "tight"
  public$settings <- settings
  public$paper <- paper_facts(public, record$core)
  made <- make_release(new_request(posterior_record(record), public, table, ledger))
  fit <- new_paper(columns, public, method, made$plan, made$promise, made$drawn)
  with_charge(fit, made$charge)
}

#' @noRd
new_paper <- function(columns, public, method, plan, promise, release) {
  record <- mechanism_table$dp_lm[[method]]
  privacy <- c(list(
    private = public$private, epsilon = public$epsilon, delta = public$delta, rho = NA_real_,
    neighbours = person_neighbours(columns$person), steps = plan$steps, rng = public$rng,
    version = own_version()
  ), promise)
  names <- c("(Intercept)", vapply(columns$columns, `[[`, "", "name"))
  structure(list(
    coefficients = stats::setNames(release$stages[[1L]], names), release = release,
    method = method, title = record$title, source = record$source, nobs = public$n,
    columns = columns, text = columns$text, facts = public$paper, privacy = privacy,
    plan = plan[setdiff(names(plan), c("cost", "steps"))]
  ), class = c("dp_paper", "dp_regression"))
}

#' @param method (`list`)\cr a record from the table of methods.
#' @noRd
posterior_record <- function(method) {
  list(
    plan = function(request) {
      public <- request$public
      if (public$private) plan_paper(public$paper, public)
    },
    promise = function(request, plan) lm_promise(request$public, method),
    label = function(request, plan) method$title,
    run = function(request, plan, rows) {
      public <- request$public
      if (!public$private) {
        return(paper_raw_cpp(rows, public$paper))
      }
      paper_release_cpp(rows, public$paper, public$rng)
    }
  )
}
