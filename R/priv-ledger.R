#' A privacy budget over several releases
#'
#' Give the same ledger to every call that uses the same people. The ledger is charged *before* any
#' noise is drawn. A charge that would exceed the total causes an error: the call releases nothing
#' and spends nothing. An interrupt after the charge does not undo the charge.
#'
#' The rule by which costs are added is fixed before any budget is spent, so later choices may
#' depend on earlier results. Before the first charge with Gaussian noise, epsilons and deltas are
#' added (Rogers et al., 2016). From this charge on, the ledger adds the squares of mu, the
#' parameter of Gaussian differential privacy, and converts the sum once, at the remaining delta
#' (Dong, Roth and Su, 2022; Smith and Thakurta, 2022). A charge without delta counts as the mu that
#' covers its epsilon. A charge with its own delta (for example by method `"objective"`) is refused
#' after a Gaussian charge. Make such a charge first, or use a separate ledger (the budgets of two
#' ledgers add up). Charges by older versions in zero-concentrated differential privacy are added
#' and converted by the rules of that notion. The proofs are in `proofs/accounting.md`.
#'
#' A ledger pays only for private releases. A release without a valid guarantee (`rng = "R"`, the
#' published calibration of `"objective"`, `epsilon = Inf`) is refused.
#'
#' **With `path` or `con` a ledger is kept outside R**, in a SQLite file or in a database table
#' (SQLite, Postgres) that a team shares. The object is then a handle that any session can create
#' again, and the content of the table is binding. A charge is written to the table, in a
#' transaction that excludes others, before the call draws its noise. A process that crashes may
#' therefore leave a charge without a release, but never a release without a charge. Rows are only
#' added, and each row contains a hash of its own entries and of the previous row
#' ([verify_ledger()]). Each new period of a growing release (`monitor`) is also recorded as a row,
#' without a cost; `as.data.frame()` omits these rows. Tests on a file and on Postgres, in which 8
#' processes competed 200 times and a process was killed 200 times, found neither an overspent
#' ledger nor a release without its charge (`bench/results/ledger.csv` in the source package).
#' Anyone with write access to the file or the table can change any row, so grant this access to few
#' people, and store hashes of charges elsewhere.
#'
#' **Otherwise a ledger is kept in this R session, and in files that you save yourself.** Charges
#' since the last save are lost when the session ends or crashes, although the results of these
#' charges may be published. Save the ledger (`saveRDS()`) before you publish anything, and after
#' each charge. A ledger can be saved, read and printed, but a copy cannot be charged, in the same
#' session or in another process (from a file or a fork), because a copy cannot know the original's
#' later charges. `dp_ledger(resume = copy)` returns a ledger that can be charged. If the original
#' is in the same session, its history is used, and the original cannot be charged any more.
#' Otherwise you must ensure that no other copy is resumed. The ledger cannot detect that an image
#' of the machine was restored twice.
#'
#' A total counts as exceeded only if the excess is more than 1e-9 of the total. Rounding therefore
#' does not cause a refusal of shares that add up to the total.
#'
#' @param epsilon (`number`, positive)\cr total privacy loss.
#' @param delta (`number`, in \[0, 1))\cr total failure probability.
#' @param resume (`dp_ledger`)\cr a copy to continue, with its total and history, instead of
#'   `epsilon` and `delta`.
#' @param path (`string`)\cr a SQLite file, created if it does not exist.
#' @param con,table (`DBIConnection`, `string`)\cr a connection to SQLite (package RSQLite) or
#'   Postgres (package RPostgres), and the name of a table, created if it does not exist. For an
#'   existing ledger omit `epsilon` and `delta`. A ledger cannot be used within a transaction of
#'   `con`, or in a fork of the process that opened `con`.
#' @param data,study (`string`)\cr names of the data and of the study, which are recorded with the
#'   charges through this object.
#' @param x (`dp_ledger`)\cr a ledger.
#' @param ... unused.
#' @return An object of class `dp_ledger`, with reference semantics: an assignment to another name
#'   does not copy the balance. `as.data.frame()` gives one row per charge, with the columns
#'   `label`, `kind`, and `epsilon`, `delta`, `rho` and `mu`, each of which is `NA` if it does not
#'   apply to the charge. For a ledger outside R there are also the columns `number`, `time` (UTC),
#'   `account`, `data`, `study`, `version` and `hash`. `summary()` gives a list: `epsilon` and
#'   `delta` (the totals), `spent` (the epsilon of all charges together), `left` (the largest
#'   epsilon of a further release by method `"gram"`), and `charges`, the data frame of charges. The
#'   whole ledger is PUBLIC. `format()` returns most of the printed lines. `plot()` causes an error,
#'   since there is no figure of a ledger.
#' @section Compulsory ledgers: A private call without the argument `ledger` charges the ledger in
#' `options(dpsc.ledger = )`, or the ledger at the path in the environment variable `DPSC_LEDGER`.
#' With `options(dpsc.require_ledger = TRUE)`, or `DPSC_REQUIRE_LEDGER=1`, a private call without
#' any of these ledgers causes an error.
#' @section Errors: `dpsc_error_argument` for a bad total; `dpsc_error_budget` (from the fitting
#'   functions) for a charge that exceeds the total, for a charge that the ledger's accounting
#'   cannot include, and for a charge to a copy.
#' @references Rogers, R., Roth, A., Ullman, J. and Vadhan, S. (2016). Privacy Odometers and
#'   Filters.
#'
#'   Dong, J., Roth, A. and Su, W. (2022). Gaussian Differential Privacy.
#'
#'   Smith, A. and Thakurta, A. (2022). Fully Adaptive Composition for Gaussian Differential
#'   Privacy.
#' @examples
#' ledger <- dp_ledger(epsilon = 2, delta = 1e-6)
#' panel <- sim_panel(n = 200, T0 = 8, T1 = 2)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 8, epsilon = 1, delta = 1e-6,
#'   bounds = c(-1, 1), ledger = ledger
#' )
#' ledger
#' @export
dp_ledger <- function(epsilon, delta = 0, resume = NULL, path = NULL, con = NULL,
                      table = "dpsc_ledger", data = "", study = "", ...) door("dp_ledger", {
  check_no_dots(...)
  if (!is.null(resume)) {
    return(resume_ledger(resume, missing(epsilon) && missing(delta)))
  }
  if (!is.null(path) || !is.null(con)) {
    return(open_ledger(list(
      epsilon = if (!missing(epsilon)) check_number(epsilon, 0, open = "min"),
      delta = check_number(delta, 0, 1, open = "max"), path = path, con = con, table = table,
      data = data, study = study
    )))
  }
  check_given(missing(epsilon), "epsilon", "the total privacy loss")
  self <- new.env(parent = emptyenv())
  self$epsilon <- check_number(epsilon, 0, open = "min")
  self$delta <- check_number(delta, 0, 1, open = "max")
  self$history <- data.frame(
    label = character(), kind = character(), epsilon = double(), delta = double(), rho = double(),
    mu = double()
  )
  register(structure(self, class = "dp_ledger"))
})

#' @noRd
resume_ledger <- function(copy, alone) {
  if (!alone || !inherits(copy, "dp_ledger")) {
    abort(c(
      "{.arg resume} must be a ledger, and the only argument.",
      i = "The total and the history are taken over unchanged."
    ), "argument")
  }
  id <- copy$id
  # An earlier copy of this ledger may have been taken over in this session.
  while (is.character(id) && !is.null(session$heirs[[id]])) id <- session$heirs[[id]]
  if (is.character(id) && !is.null(session$live[[id]])) {
    # The original, or the ledger that replaced it, is in this session and contains later charges
    # than a copy.
    copy <- session$live[[id]]
    session$live[[id]] <- NULL
  }
  self <- list2env(as.list.environment(copy), parent = emptyenv())
  self$history <- complete_history(copy$history)
  heir <- register(structure(self, class = "dp_ledger"))
  if (is.character(id)) session$heirs[[id]] <- heir$id
  heir
}

#' Give a ledger its identity and store its environment, which differs for a copy
#' @noRd
register <- function(ledger) {
  ledger$session <- session_mark()
  session$made <- (session$made %||% 0) + 1
  ledger$id <- paste(c(format(ledger$session, digits = 17L), session$made), collapse = "-")
  session$live[[ledger$id]] <- ledger
  ledger
}

#' Is this object the original ledger, and not a copy?
#' @noRd
is_live <- function(ledger) {
  identical(ledger$session, session_mark()) && is.character(ledger$id) &&
    identical(session$live[[ledger$id]], ledger)
}

#' Identity of this process, different for its forks
#' @noRd
session_mark <- function() {
  if (is.null(session$started)) session$started <- as.numeric(Sys.time())
  c(process = Sys.getpid(), started = session$started)
}
session <- new.env(parent = emptyenv())

#' Total epsilon of a history of charges at a given delta
#'
#' The rule depends only on the order of the kinds of charges: basic composition before the first
#' Gaussian charge, and one Gaussian (or zCDP) total from this charge on. The smaller of two bounds
#' is never used, since a minimum over rules is not a bound if charges are chosen adaptively.
#' @return A number, possibly `Inf` (no failure probability is left).
#' @noRd
total_epsilon <- function(history, delta) {
  basic <- !after_gaussian(history) | history$kind == "approximate"
  # The small tolerance lets the shares of a split total add up to the total.
  left <- delta * (1 + 1e-12) - sum(history$delta[basic])
  if (left < 0) {
    return(Inf)
  }
  sum(history$epsilon[basic]) + gaussian_epsilon(history[!basic, ], min(left, delta))
}

#' Flags of all charges from the first charge with Gaussian noise on
#' @noRd
after_gaussian <- function(history) {
  cumsum(history$kind %in% c("gdp", "zcdp")) > 0
}

#' Epsilon of the Gaussian part of a history
#'
#' The part is computed in zCDP if it contains a zCDP charge, which Gaussian shifts do not cover;
#' otherwise in Gaussian shifts.
#' @noRd
gaussian_epsilon <- function(charges, delta) {
  if (!nrow(charges)) {
    return(0)
  }
  if (delta <= 0) {
    return(Inf)
  }
  pure <- charges$kind == "pure"
  if (any(charges$kind == "zcdp")) {
    return(cdp_epsilon_cpp(sum(charges$rho[!pure]) + sum(charges$epsilon[pure]^2) / 2, delta))
  }
  # The log-ratios of a pure step lie in [-epsilon, epsilon].
  covers <- vapply(2 * charges$epsilon[pure], exponential_step_mu_cpp, 0)
  gdp_epsilon_cpp(gdp_compose_cpp(c(charges$mu[!pure], covers)), delta)
}

#' The ledger that a call charges: the ledger of the call, the session or the machine
#'
#' The session's ledger is in `options(dpsc.ledger = )`, and the machine's ledger is the path in the
#' environment variable `DPSC_LEDGER`. With `options(dpsc.require_ledger = TRUE)` or
#' `DPSC_REQUIRE_LEDGER=1` a missing ledger is an error.
#' @noRd
paying_ledger <- function(ledger, private) {
  if (!is.null(check_ledger(ledger)) || !private || isTRUE(session$simulates)) return(ledger)
  ledger <- check_ledger(getOption("dpsc.ledger"))
  path <- Sys.getenv("DPSC_LEDGER")
  if (is.null(ledger) && nzchar(path)) ledger <- dp_ledger(path = path)
  required <- isTRUE(getOption("dpsc.require_ledger")) ||
    tolower(Sys.getenv("DPSC_REQUIRE_LEDGER")) %in% c("1", "true", "yes")
  if (is.null(ledger) && required) {
    abort(c(
      "Private calls need a ledger in this session.",
      x = "{.code dpsc.require_ledger} or {.envvar DPSC_REQUIRE_LEDGER} requires a ledger.",
      i = "Give {.arg ledger}, or set {.code options(dpsc.ledger = dp_ledger(...))}."
    ), "budget")
  }
  ledger
}

#' Run code on simulated people, for which no ledger is charged
#' @noRd
of_simulated <- function(code) {
  before <- session$simulates
  session$simulates <- TRUE
  on.exit(session$simulates <- before)
  code
}

#' Charge a ledger, or fail without a trace
#' @param ledger (`dp_ledger` or `NULL`)\cr `NULL` charges nothing.
#' @param promise (`list`)\cr the guarantee of the release: `holds`, and `reason` if the guarantee
#'   is not valid.
#' @return `NULL`, or for a ledger outside R the record of the charge, see [charge_outside()].
#'   PUBLIC.
#' @noRd
spend <- function(ledger, cost, label, promise) {
  charge <- NULL
  if (!is.null(ledger)) {
    check_live(ledger)
    check_promise(promise)
    if (is_outside(ledger)) {
      charge <- charge_outside(ledger, cost, label, function(history, total) {
        charged_history(total, history, cost, label)
      })
    } else {
      ledger$history <- charged_history(ledger, ledger_history(ledger), cost, label)
    }
  }
  charges$made <- charges$made + 1
  charge
}

#' A history with a further charge, or an error if it exceeds the budget
#' @param ledger (`dp_ledger` or `list`)\cr a list with the total `epsilon` and `delta`.
#' @noRd
charged_history <- function(ledger, history, cost, label) {
  charge <- data.frame(label = label, cost[c("kind", "epsilon", "delta", "rho", "mu")])
  after <- rbind(history, charge)
  check_order(after)
  total <- total_epsilon(after, ledger$delta)
  if (!(total <= ledger$epsilon * (1 + 1e-9))) {
    abort(c(
      "The ledger does not hold enough budget for this release.",
      x = paste(
        "With this release the total would be epsilon = {format_epsilon(total)} at",
        "delta = {ledger$delta}; the ledger allows epsilon = {ledger$epsilon}."
      ),
      i = budget_left(ledger, cost, history)
    ), "budget")
  }
  after
}

#' Words on the remaining budget for a call like the refused call
#' @noRd
budget_left <- function(ledger, cost, history) {
  left <- format_epsilon(remaining_epsilon(ledger, cost, history))
  paste0(
    "About epsilon = ", left, " is left for a release like this one",
    if (ledger$delta == 0 && cost$kind != "pure") ", but with {.code delta = 0}", "."
  )
}

#' @noRd
check_live <- function(ledger) {
  # Every handle of a ledger outside R may pay, since the stored rows decide.
  if (is_outside(ledger) || is_live(ledger)) {
    return(invisible(NULL))
  }
  here <- identical(ledger$session, session_mark())
  abort(c(
    if (here) {
      "This ledger cannot be charged: it is a copy, or another ledger has replaced it."
    } else {
      "This ledger belongs to another R session, and a copy cannot be charged."
    },
    x = "Later charges to the original are not known here.",
    i = paste(
      "Use the ledger in the session in which it was made, or take it",
      "over with {.code dp_ledger(resume = )}."
    )
  ), "budget")
}

#' @noRd
check_promise <- function(promise) {
  if (!promise$holds) {
    abort(c(
      "A ledger pays only for a release with a valid guarantee.",
      x = "The reason for the refusal: {promise$reason}.",
      i = paste(
        "Leave out {.arg ledger} for such a release, and set {.code options(dpsc.ledger = NULL)}",
        "if a default ledger pays; do not use data that need protection."
      )
    ), "budget")
  }
}

#' Charges that the ledger's accounting cannot cover at their position
#' @param history (`data.frame`)\cr the history, with the new charge as its last row.
#' @noRd
check_order <- function(history) {
  new <- nrow(history)
  earlier <- history$kind[-new]
  if (!any(earlier %in% c("gdp", "zcdp"))) {
    return(invisible(NULL))
  }
  kind <- history$kind[[new]]
  if (kind == "approximate" || (kind == "zcdp" && !any(earlier == "zcdp"))) {
    charge <- if (kind == "zcdp") "A charge in rho" else "A charge in epsilon and delta"
    abort(c(
      "{charge} cannot follow a charge for Gaussian noise, and this ledger contains such a charge.",
      x = "The first Gaussian charge fixes the rule by which costs add up.",
      i = paste(
        "Use a separate ledger for this release:",
        "the totals of two ledgers for the same people add up."
      )
    ), "budget")
  }
}

#' Epsilon that a further release could spend
#' @param cost (`list` or `NULL`)\cr the cost of a similar release; `NULL`: a release by method
#'   "gram".
#' @noRd
remaining_epsilon <- function(ledger, cost = NULL, history = ledger_history(ledger)) {
  history <- history[c("label", "kind", "epsilon", "delta", "rho", "mu")]
  # With delta = 0 only charges with pure privacy are possible.
  kind <- if (ledger$delta > 0) cost$kind %||% "gdp" else "pure"
  last <- nrow(history) + 1L
  more <- rbind(history, frame_of(
    label = "", kind = kind, epsilon = 0, delta = 0, rho = NA_real_, mu = NA_real_
  ))
  fits <- function(epsilon) {
    extra <- switch(kind,
      gdp = new_cost("gdp", epsilon = epsilon, mu = gdp_budget_cpp(epsilon, ledger$delta)),
      zcdp = new_cost("zcdp", epsilon = epsilon, rho = cdp_rho_cpp(epsilon, ledger$delta)),
      approximate = new_cost("approximate", epsilon = epsilon, delta = cost$delta),
      pure = new_cost("pure", epsilon = epsilon)
    )
    for (part in c("epsilon", "delta", "rho", "mu")) more[[part]][[last]] <- extra[[part]]
    total_epsilon(more, ledger$delta) <= ledger$epsilon * (1 + 1e-9)
  }
  if (fits(ledger$epsilon)) {
    return(ledger$epsilon)
  }
  low <- 0
  high <- ledger$epsilon
  for (i in seq_len(60L)) {
    middle <- (low + high) / 2
    if (fits(middle)) low <- middle else high <- middle
  }
  low
}

check_ledger <- function(ledger) {
  if (!is.null(ledger) && !inherits(ledger, "dp_ledger")) {
    abort(c(
      "{.arg ledger} must come from {.fn dp_ledger}.", x = "It is {describe(ledger)}."
    ), "argument")
  }
  ledger
}

format_epsilon <- function(epsilon) {
  formatC(epsilon, digits = 4L, format = "g", width = 1L)
}
