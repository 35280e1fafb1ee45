#' A privacy budget over several releases
#'
#' Give one ledger to every call that touches the same donors. It is charged *before* any noise is
#' drawn, and a charge that would exceed the total is an error: nothing is released and nothing is
#' spent. An interrupt after the charge leaves it charged.
#'
#' Costs in zCDP add up as zCDP and are converted once; pure and approximate costs are added to
#' that, or pure costs are turned into zCDP (`epsilon^2 / 2`) when that is cheaper. Adaptive choices
#' between releases are covered as long as the total is fixed beforehand (Bun and Steinke, 2016,
#' Lemma 2.3; Whitehouse et al., 2023).
#'
#' A ledger lives in one R session. It can be saved, read and printed elsewhere, but a copy in
#' another process (a file read back later, a fork) refuses to pay: it could not know what the
#' original has spent since. `dp_ledger(resume = copy)` takes it over, and you vouch that no other
#' copy pays.
#'
#' A total counts as exceeded beyond 1e-9 of itself: rounding must not refuse parts that add up to
#' it.
#'
#' @param epsilon (`number`, positive)\cr total privacy loss.
#' @param delta (`number`, in \[0, 1))\cr total failure probability.
#' @param resume (`dp_ledger`)\cr a ledger of another session to take over, with its total and
#'   history; instead of `epsilon` and `delta`.
#' @param x (`dp_ledger`)\cr a ledger.
#' @param ... unused.
#' @return An object of class `dp_ledger`, with reference semantics: copies share one balance.
#'   `as.data.frame()` gives one row per charge. Everything in it is PUBLIC.
#' @section Errors: `dpsc_error_argument` for a bad total; `dpsc_error_budget` (from the fitting
#'   functions) for a charge that exceeds it.
#' @examples
#' ledger <- dp_ledger(epsilon = 2, delta = 1e-6)
#' panel <- sim_panel(n = 200, T0 = 8, T1 = 2)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 8, epsilon = 1, delta = 1e-6,
#'   bounds = c(-1, 1), ledger = ledger
#' )
#' ledger
#' @export
dp_ledger <- function(epsilon, delta = 0, resume = NULL) {
  call <- public_call("dp_ledger")
  if (!is.null(resume)) {
    return(resume_ledger(resume, missing(epsilon) && missing(delta), call))
  }
  check_given(missing(epsilon), "epsilon", "the total privacy loss", call)
  self <- new.env(parent = emptyenv())
  self$epsilon <- check_number(epsilon, 0, open = "min", call = call)
  self$delta <- check_number(delta, 0, 1, open = "max", call = call)
  self$history <- data.frame(
    label = character(), kind = character(), epsilon = double(), delta = double(), rho = double()
  )
  self$session <- session_mark()
  structure(self, class = "dp_ledger")
}

#' @noRd
resume_ledger <- function(copy, alone, call) {
  if (!alone || !inherits(copy, "dp_ledger")) {
    abort(c(
      "{.arg resume} must be a ledger, and stands alone.",
      i = "Its total and history are taken over as they are."
    ), "argument", call)
  }
  self <- list2env(as.list.environment(copy), parent = emptyenv())
  self$session <- session_mark()
  structure(self, class = "dp_ledger")
}

#' What tells this process from all others, forks of it included
#' @noRd
session_mark <- function() {
  if (is.null(session$started)) session$started <- as.numeric(Sys.time())
  c(process = Sys.getpid(), started = session$started)
}
session <- new.env(parent = emptyenv())

#' The price of a release, in the currency of its proof
#' @param kind (`string`)\cr `"zcdp"`, `"pure"` or `"approximate"`.
#' @param epsilon,delta,rho (`number`)\cr what the kind needs.
#' @noRd
new_cost <- function(kind = c("zcdp", "pure", "approximate"), epsilon = NA_real_, delta = 0,
                     rho = NA_real_) {
  list(kind = match.arg(kind), epsilon = epsilon, delta = delta, rho = rho)
}

#' Total epsilon of a history of charges at a given delta
#' @return A number, possibly `Inf` (no budget of failure probability left).
#' @noRd
total_epsilon <- function(history, delta) {
  pure <- history$epsilon[history$kind == "pure"]
  approximate <- history[history$kind == "approximate", ]
  rho <- sum(history$rho[history$kind == "zcdp"])
  # A hair of tolerance, so that parts of a total that was split add up to it again.
  left <- delta * (1 + 1e-12) - sum(approximate$delta)
  if (left < 0) {
    return(Inf)
  }
  convert <- function(rho) {
    if (rho == 0) 0 else if (left <= 0) Inf else cdp_epsilon_cpp(rho, min(left, delta))
  }
  sum(approximate$epsilon) + min(sum(pure) + convert(rho), convert(rho + sum(pure^2) / 2))
}

#' Charge a ledger, or fail without a trace
#' @param ledger (`dp_ledger` or `NULL`)\cr `NULL` charges nothing.
#' @return Invisible `NULL`.
#' @noRd
spend <- function(ledger, cost, label, call = NULL) {
  if (is.null(ledger)) {
    return(invisible(NULL))
  }
  if (!identical(ledger$session, session_mark())) {
    abort(c(
      "This ledger belongs to another R session, and a copy cannot pay.",
      x = "What the original has spent since is not known here.",
      i = paste(
        "Nothing was released and nothing was spent. Use the ledger where it was made, or take it",
        "over with {.code dp_ledger(resume = )}."
      )
    ), "budget", call)
  }
  charge <- data.frame(label = label, cost[c("kind", "epsilon", "delta", "rho")])
  after <- rbind(ledger$history, charge)
  total <- total_epsilon(after, ledger$delta)
  if (!(total <= ledger$epsilon * (1 + 1e-9))) {
    left <- format_epsilon(remaining_epsilon(ledger))
    abort(c(
      "The ledger does not hold enough budget for this release.",
      x = paste(
        "With it the total would be epsilon = {format_epsilon(total)} at delta = {ledger$delta};",
        "the limit is {ledger$epsilon}."
      ),
      i = paste(
        "Nothing was released and nothing was spent. About epsilon = {left} is left for a release",
        "accounted like the earlier ones."
      )
    ), "budget", call)
  }
  ledger$history <- after
  invisible(NULL)
}

#' Epsilon that one more release by method "gram" could spend
#' @noRd
remaining_epsilon <- function(ledger) {
  fits <- function(epsilon) {
    rho <- if (ledger$delta > 0) cdp_rho_cpp(epsilon, ledger$delta) else NA_real_
    kind <- if (ledger$delta > 0) "zcdp" else "pure"
    extra <- data.frame(label = "", kind = kind, epsilon = epsilon, delta = 0, rho = rho)
    total_epsilon(rbind(ledger$history, extra), ledger$delta) <= ledger$epsilon * (1 + 1e-9)
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

check_ledger <- function(ledger, call) {
  if (!is.null(ledger) && !inherits(ledger, "dp_ledger")) {
    abort(c(
      "{.arg ledger} must come from {.fn dp_ledger}.", x = "It is {describe(ledger)}."
    ), "argument", call)
  }
  ledger
}

format_epsilon <- function(epsilon) {
  formatC(epsilon, digits = 4L, format = "g", width = 1L)
}

#' @rdname dp_ledger
#' @export
format.dp_ledger <- function(x, ...) {
  spent <- if (nrow(x$history)) total_epsilon(x$history, x$delta) else 0
  history <- if (nrow(x$history)) {
    cost <- ifelse(x$history$kind == "zcdp",
      paste0("rho = ", format_epsilon(x$history$rho)),
      paste0("epsilon = ", format_epsilon(x$history$epsilon),
        ifelse(x$history$delta > 0, paste0(", delta = ", format(x$history$delta)), ""))
    )
    paste0("  ", seq_len(nrow(x$history)), ". ", x$history$label, ": ", cost)
  } else {
    "  nothing spent yet"
  }
  c(
    paste0("Privacy ledger (neighbours: replace one donor; delta = ", format(x$delta), ")"),
    paste0("  epsilon ", format_epsilon(spent), " spent of ", format_epsilon(x$epsilon),
      "; about ", format_epsilon(remaining_epsilon(x)), " left"),
    history
  )
}

#' @rdname dp_ledger
#' @export
print.dp_ledger <- function(x, ...) {
  cat(format(x), sep = "\n")
  invisible(x)
}

#' @rdname dp_ledger
#' @export
as.data.frame.dp_ledger <- function(x, ...) {
  x$history
}
