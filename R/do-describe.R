# Descriptive statistics: plan, charge, draw. Only C++ code reads values
# (inst/include/dpsc/release/describe.hpp).

#' Descriptive statistics under differential privacy
#'
#' Releases counts, shares of levels, means, standard deviations and quantiles of columns, for all
#' people or by public groups, as in the first table of a paper. One charge covers the whole table.
#' Every number has a standard error and confidence limits, which cover the noise and, except for
#' numbers of people, the sampling error. Neighbouring data sets arise by replacing one person's
#' row. The number of rows, `formula`, `by` and `bounds` are public.
#'
#' For a numeric variable the quantiles are drawn first, by the exponential mechanism on a grid
#' between the bounds. If the plan uses no delta, up to 20 quantiles are drawn at once, with their
#' largest error in ranks as loss function. Otherwise the quantiles are drawn one after another.
#' Means and standard deviations are then computed in a window around the released median, so that
#' bounds ten times too wide increase the errors only slightly.
#'
#' With enough people (for one column and epsilon = 1, more than 650) the function releases, for
#' each side of the median, a radius beyond which only a few people's values lie (`plan$beyond`).
#' The window extends three to four times this radius. With fewer people the window extends seven
#' times the distance between quartile and median, and a radius is released only in columns with
#' equal quartiles (`plan$late`). Values beyond the window are clipped, and a noisy number of people
#' with such values is released. Confidence limits are widened by the share of these people that
#' noise does not explain, times the width of the window. They extend to the bounds if this share is
#' so large that the window must have been misplaced. For very heavy tails (a barely finite
#' variance) means are biased towards the median, and standard deviations downwards.
#'
#' A row is omitted for the variables that are missing in this row. A row is omitted for all
#' variables if its group is missing or is not a public level. The number of missing values is
#' private.
#'
#' @section Several rows of one person: With `person = ~ id` neighbours arise by replacing all
#'   rows of one person, and every step costs the same as for one row per person. Every person has
#'   weight one for each variable, spread equally over their rows without a missing value, and all
#'   statistics describe this weighted distribution. With `by` a person with rows in several groups
#'   has in each group the share of their rows in that group as weight. For statistics of a number
#'   per person (for example, the mean cost of a person's visits), compute one row per person
#'   beforehand. Confidence limits treat a person as one observation with the variance of a single
#'   row. These limits are correct if all rows of a person are equal. Otherwise they are too wide,
#'   by a factor of up to the square root of the number of rows per person. Counts are sums of
#'   weights. The proof is in `proofs/person.md`.
#'
#' @section Confidence limits: Confidence limits of shares, means, standard deviations and quantiles
#'   refer to the population from which people are drawn. Limits of `n` refer to the people in this
#'   table, and therefore cover noise alone. The `n` of a variable is at most the released size of
#'   its group (unless people have several rows).
#'
#'   Limits of means are computed as if the sampling error were normal, and allow for values beyond
#'   the window that follow a power law. Limits of quantiles are read from the curve through the
#'   released quantiles: with few quantiles these limits are wide where the slope of the curve
#'   changes. Recorded values are often round, so 0, the bounds and multiples of powers of ten are
#'   drawn with higher probability than other numbers. If drawn quantiles are round, their limits
#'   extend to the next round number. With few people limits always extend to the next round number,
#'   since a quantile of a column with few different values is then often drawn between two of these
#'   values. Declare whole numbers by bounds of class integer, `c(0L, 100L)`: without them, limits
#'   contained the quantiles of counts with few different values in only 63 to 80 % of the releases
#'   with 2,000 people.
#'
#'   With few people, the released numbers cannot exclude that a skewed column has an infinite
#'   variance. Limits of its standard deviation then extend to the largest standard deviation that
#'   the bounds allow. For a Pareto distribution with exponent 1.5 and 500 people the coverage of
#'   these limits is only .7. In the designs of `bench/results/describe.csv`, which also contains
#'   the errors of other packages, coverage is at least .93.
#'
#'   *Clusters far from all other values*, such as codes for missing values, are clipped to the end
#'   of the window, and in a table with few people noise hides them. Limits of means and standard
#'   deviations therefore allow for a cluster between the window and the bound, with the largest
#'   share of people that the released sums of squares do not exclude. In a normal column with
#'   epsilon = 1 this share is about 8 % for 500 people and 7 % for 1,000. The limits contain no
#'   such allowance if the released sums of squares exclude a cluster of 2 %, as for most columns of
#'   2,000 people. With the allowance, the bounds determine the width of the limits, and the printed
#'   table gives the shares. Narrower bounds, a larger epsilon or fewer requested statistics give
#'   narrower limits. `tidy(clusters = FALSE)` and `print(clusters = FALSE)` assume that there is no
#'   such cluster.
#'
#' @param formula (`formula`, PUBLIC)\cr variables, without a left side, such as
#'   `~ age + sex + log(cost)`.
#' @param data (`data.frame`, [dp_chunks()] of them, [dp_table()], [dp_files()] or [dp_sources()],
#'   PRIVATE)\cr one row per person, or several rows per person with `person`. Rows of a database or
#'   a file are read into this process in blocks.
#' @param by (`formula` or `NULL`, PUBLIC)\cr the column of groups, such as `~ arm`, with its levels
#'   in `bounds`.
#' @param epsilon (`number`, positive)\cr privacy loss. `Inf`: NOT PRIVATE.
#' @param delta (`number`, in \[0, 1))\cr failure probability. If few statistics are requested and
#'   errors are smaller without delta, the plan does not use delta: the guarantee then has `delta =
#'   0`.
#' @param bounds (`list`, PUBLIC)\cr limits or levels of every variable, see [dp_bounds]. Limits of
#'   type integer, `c(0L, 120L)`, declare a column of whole numbers, and its quantiles are then
#'   whole numbers. This declaration has no effect if the limits differ by more than 65,536. Without
#'   this declaration a quantile of few people may lie between two whole numbers, although round
#'   numbers are drawn more often (see Confidence limits).
#' @param quantiles (`numeric`, in (0, 1), PUBLIC)\cr probabilities of quantiles, as multiples of
#'   0.001; the quartiles are always included.
#' @param ledger (`dp_ledger` or `NULL`)\cr charged before any noise is drawn.
#' @param control (`dp_control`)\cr only `rng` is used. `rng = "R"`: NOT PRIVATE.
#' @param person (`formula` or `string`, PUBLIC)\cr `~ id`: the column that identifies people;
#'   neighbours arise by replacing all rows of one person. `"row"`, also assumed for `NULL`:
#'   each row is a different person. See [dp_person]; [dp_sources()] refuses a column.
#' @param ... unused; an unknown argument causes an error.
#' @return An object of class `dp_description`:
#'   * `release`: noisy counts, quantiles and sums of powers. RELEASED.
#'   * `columns`, `plan`, `quantiles`, `nobs`: the columns, the noise of each step, the
#'     probabilities, and the number of rows (with `person = ~ id`, of people). PUBLIC.
#'   * `privacy`: budget, definition of neighbours, theorem, and whether the privacy guarantee
#'     holds. PUBLIC.
#'   * `steps`: one row per kind of noise step, with distribution, sensitivity, scale and cost.
#'     PUBLIC.
#'
#'   The object contains no row and no environment. See [dp_description-methods].
#' @section Privacy:
#' A description protects one person's whole row against an adversary who knows all other rows. In
#' neighbouring data sets one row is replaced, possibly by a row in another group, or with `person =
#' ~ id` all rows of one person. The guarantee follows by adaptive composition of zero-concentrated
#' steps if the plan uses delta, and of pure steps otherwise. The noise is exact integer noise. The
#' proof is in `proofs/describe.md`.
#' @section Warnings:
#' `dpsc_warning_bounds`, if the released numbers suggest that bounds are in wrong units: nearly all
#' values of a column are at a bound, or they spread over about a thousandth of the bounds' width.
#' @section Errors:
#' `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_data`, `dpsc_error_budget`. All these
#' errors occur before any budget is spent, and depend on public facts only.
#' @references
#' Bun, M. and Steinke, T. (2016). Concentrated Differential Privacy: Simplifications, Extensions,
#' and Lower Bounds. TCC.
#'
#' Smith, A. (2011). Privacy-preserving Statistical Estimation with Optimal Convergence Rates. STOC.
#' @seealso [dp_lm()], [dp_aggregate()] for any other statistic.
#' @examples
#' n <- 5000
#' people <- data.frame(age = runif(n, 18, 90), arm = sample(c("new", "old"), n, TRUE))
#' people$ill <- runif(n) < 0.2
#' table1 <- dp_describe(~ age + ill, people,
#'   by = ~arm, epsilon = 1, delta = 1e-6,
#'   bounds = list(age = c(0, 120), ill = c(FALSE, TRUE), arm = c("new", "old"))
#' )
#' table1
#' tidy(table1)
#' @export
dp_describe <- function(formula, data, by = NULL, epsilon, delta = 1e-6, bounds,
                        quantiles = c(0.25, 0.5, 0.75), ledger = NULL, control = dp_control(),
                        person = NULL, ...) door("dp_describe", pays = TRUE, {
  check_no_dots(...)
  check_given(missing(formula), "formula", "the variables to describe")
  check_given(missing(data), "data", "one row per person")
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept")
  check_given(missing(bounds), "bounds", "public limits of every variable")
  if (!is.data.frame(data)) data <- source_of_tbl(data)
  record <- mechanism_table$dp_describe$table
  person <- check_person(person, record, NULL, data)
  lacking <- function(given) setdiff(all.vars(given), names(bounds))
  if (inherits(formula, "formula")) check_in_data(lacking(formula), data)
  if (inherits(by, "formula")) check_in_data(lacking(by), data)
  columns <- describe_columns(formula, by, bounds)
  columns["person"] <- list(person)
  quantiles <- check_quantiles(quantiles)
  budget <- checked_budget(epsilon, delta, ledger, control)
  refuse_source(data, record$needs, "{.fn dp_describe}")
  source <- lm_source(columns, data, list(), budget$private)
  on.exit(close_donors(source$table))
  public <- describe_public(budget, columns, source$n, quantiles)
  public$assumes <- assumptions_of(data)
  made <- make_release(new_request(describe_record(), public, source$table, ledger))
  described <- with_charge(new_description(columns, public, made), made$charge)
  warn_doubts(description_doubts(described))
  described
})

#' @noRd
describe_record <- function() {
  list(
    plan = function(request) describe_plan(request$public),
    promise = function(request, plan) describe_promise(request$public, plan),
    label = function(request, plan) "description",
    run = function(request, plan, rows) {
      public <- request$public
      if (!public$private) {
        return(raw_description(gather_rows(rows), public$facts))
      }
      describe_release_cpp(rows, public$facts, public$rng)
    }
  )
}

#' Probabilities in whole thousandths, including the quartiles
#' @noRd
check_quantiles <- function(quantiles) {
  thousandths <- if (is.numeric(quantiles)) round(1000 * as.double(quantiles))
  ok <- length(thousandths) && all(is.finite(thousandths)) &&
    all(abs(thousandths - 1000 * quantiles) < 1e-6) && all(thousandths > 0 & thousandths < 1000)
  if (!isTRUE(ok)) {
    abort(c(
      "{.arg quantiles} must be multiples of 0.001 above 0 and below 1.",
      x = "It is {describe_value(quantiles)}."
    ), "argument")
  }
  as.integer(sort(unique(c(thousandths, 250, 500, 750))))
}

#' All public facts of a description
#' @noRd
describe_public <- function(budget, columns, n, quantiles) {
  by_person <- !is.null(columns$person$column)
  if (n < 1) {
    abort("{.arg data} must have at least one {if (by_person) 'person' else 'row'}.", "data")
  }
  if (n <= .Machine$integer.max) n <- as.integer(n)
  c(budget, list(n = n, facts = c(list(
    n = as.double(n), epsilon = budget$epsilon, delta = budget$delta,
    numbers = names_of_variables(columns$numbers), factors = names_of_variables(columns$factors),
    lower = vapply(columns$numbers, `[[`, 0, "lower"),
    upper = vapply(columns$numbers, `[[`, 0, "upper"),
    whole = vapply(columns$numbers, `[[`, NA, "whole") + 0L,
    levels = vapply(columns$factors, function(x) length(x$levels), 0L),
    groups = length(columns$groups$levels), quantiles = quantiles
  ), if (by_person) list(person = TRUE))))
}

names_of_variables <- function(variables) vapply(variables, `[[`, "", "name")

#' Budget of a description
#' @return A list: `cost`, and the value of describe_plan_cpp(). PUBLIC.
#' @noRd
describe_plan <- function(public) {
  if (!public$private) {
    return(list(cost = NULL, gaussian = FALSE))
  }
  plan <- planned(describe_plan_cpp(public$facts), "this description")
  stopifnot(plan$spent <= 1 + 1e-9)
  # A plan without delta gives a pure guarantee.
  if (plan$gaussian && public$delta >= 1 / public$n) warn_of_delta(public$delta, public$n)
  plan$cost <- new_cost("zcdp", public$epsilon, public$delta, plan$total, pure = !plan$gaussian)
  plan$steps <- description_steps(plan, public$facts)
  plan
}

#' @noRd
describe_promise <- function(public, plan) {
  theorem <- mechanism_table$dp_describe$table$theorem
  c(privacy_facts(public,
    delta = if (plan$gaussian) public$delta else 0,
    rho = if (plan$gaussian) plan$total else NA_real_,
    theorem = if (public$private) theorem(plan$gaussian) else ""
  ), assumed(public, public$assumes))
}

#' @noRd
new_description <- function(columns, public, made) {
  privacy <- made$promise
  privacy$neighbours <- person_neighbours(columns$person)
  # The steps are omitted, since they follow from the plan.
  privacy["steps"] <- list(NULL)
  plan <- made$plan[setdiff(names(made$plan), c("cost", "steps"))]
  late <- late_columns(plan, public$facts, made$drawn)
  structure(list(
    release = made$drawn, columns = columns, facts = public$facts, plan = plan,
    quantiles = public$facts$quantiles / 1000, nobs = public$n, privacy = privacy,
    steps = description_steps(plan, public$facts, late)
  ), class = "dp_description")
}

#' The description without noise: NOT PRIVATE
#' @noRd
raw_description <- function(table, facts) {
  who <- if (isTRUE(facts$person)) table[, ncol(table)]
  if (!is.null(who)) table <- table[, -ncol(table), drop = FALSE]
  groups <- max(1L, facts$groups)
  of <- if (facts$groups) max_level(table, ncol(table) - facts$groups, facts$groups) else 1L
  of <- rep_len(of, nrow(table))
  within <- function(f) lapply(seq_len(groups), function(g) f(of %in% g))
  numbers <- lapply(seq_along(facts$numbers), function(j) {
    share <- row_shares(!is.na(of) & !is.na(table[, j]), who)
    within(function(rows) raw_number(table[rows, j], share[rows], facts))
  })
  first <- length(facts$numbers) + cumsum(c(0L, facts$levels))
  counted <- function(own, share, count) {
    vapply(seq_len(count), function(k) sum(share[own %in% k]), 0)
  }
  levels <- lapply(seq_along(facts$factors), function(k) {
    own <- max_level(table, first[[k]], facts$levels[[k]])
    share <- row_shares(!is.na(of) & !is.na(own), who)
    within(function(rows) counted(own[rows], share[rows], facts$levels[[k]]))
  })
  list(
    numbers = unlist(numbers, recursive = FALSE), levels = unlist(levels, recursive = FALSE),
    sizes = if (facts$groups > 1L) counted(of, row_shares(!is.na(of), who), groups)
  )
}

#' Weights of rows with sum one per person, over the rows without missing values
#' @param who (`numeric` or `NULL`)\cr the person of each row.
#' @noRd
row_shares <- function(counts, who) {
  counts <- as.double(counts)
  if (is.null(who)) counts else counts / pmax(1, stats::ave(counts, who, FUN = sum))
}

#' The position of the 1 among several 0/1 columns, or `NA` without a 1
#' @noRd
max_level <- function(table, after, count) {
  of <- rep(NA_integer_, nrow(table))
  for (k in seq_len(count)) of[table[, after + k] %in% 1] <- k
  of
}

#' @noRd
raw_number <- function(x, share, facts) {
  x <- x[share > 0]
  share <- share[share > 0]
  people <- sum(share)
  middle <- if (length(x)) sum(share * x) / people else NA_real_
  spread <- if (people > 1) sqrt(sum(share * (x - middle)^2) / (people - 1)) else NA_real_
  c(people, middle, spread, shared_quantiles(x, share, facts$quantiles / 1000))
}

#' Weighted quantiles of values; with one row per person as defined by [stats::quantile()]
#' @noRd
shared_quantiles <- function(x, share, q) {
  if (length(unique(x)) < 2L || all(share == 1)) {
    return(if (length(x)) stats::quantile(x, q, names = FALSE) else rep(NA_real_, length(q)))
  }
  value <- sort(unique(x))
  size <- drop(rowsum(share, match(x, value)))
  upto <- cumsum(size)
  people <- upto[[length(upto)]]
  # The first and last rank of each value; a total weight below one person gives a single rank.
  first <- upto - size + pmin(0, size - 1) / 2
  last <- upto - 1 - pmin(0, size - 1) / 2
  stats::approx(c(first, last), c(value, value), q * (people - 1), rule = 2, ties = mean)$y
}
