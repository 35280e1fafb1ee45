# An app for planning. It uses no data, since every panel in it is simulated.

#' Explore a design without data
#'
#' Opens a small app (package shiny) in which you choose the numbers of donors, treated people and
#' periods, the protected people, the dates of enrolment, the budget and the spread of people. The
#' app shows a simulated study, the private fit to this study, the plan by [dp_plan()] (errors,
#' interval, power), the split of the budget, and an attacker's possible gain. **The app accepts no
#' data**: all people are simulated, so nobody's privacy is at risk.
#'
#' The app computes the plan by the call of [dp_plan()] that the page shows. If treated people are
#' protected, or enrol at several dates, the plan takes some seconds.
#'
#' @param outcome (`string`)\cr name of the outcome, for the labels.
#' @param bounds (`numeric(2)`)\cr initial public limits of the outcome.
#' @return A shiny app object, which runs when it is printed. PUBLIC.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`.
#' @examples
#' if (interactive()) {
#'   dp_explore("blood pressure", bounds = c(80, 200))
#' }
#' # The app's computation, once, without the app:
#' panel <- sim_panel(n = 300, T0 = 12, T1 = 4, effect = 0.2)
#' dp_synth(panel$donors, target = panel$target, T0 = 12, epsilon = 1, bounds = c(-1, 1))
#' @export
dp_explore <- function(outcome = "outcome", bounds = c(0, 100)) door("dp_explore", {
  rlang::check_installed(c("shiny", "ggplot2"), "to explore designs.")
  if (!is.character(outcome) || length(outcome) != 1L || is.na(outcome)) {
    abort("{.arg outcome} must be one name.", "argument")
  }
  checked <- new_bounds(bounds, 1)
  limits <- c(checked$lower[[1L]], checked$upper[[1L]])
  shiny::shinyApp(explore_page(outcome, limits), explore_server(outcome))
})

# Scale of choices whose steps roughly double.
explore_epsilon <- c(0.1, 0.25, 0.5, 1, 2, 4, 8)
explore_delta <- c(`1e-9` = 1e-9, `1e-6` = 1e-6, `1e-5` = 1e-5, `0 (pure)` = 0)
explore_size <- c(1, 20, 50, 100, 200, 300, 500, 1000)
explore_power <- c(0.5, 0.8, 0.9, 0.95)
explore_protect <- c(`the donors` = "donors", `the donors and the treated` = "everyone")
explore_donors <- c(50, 100, 200, 300, 500, 1000, 2000, 3000, 5000)

explore_page <- function(outcome, bounds) {
  unit <- diff(bounds)
  choices <- function(id, label, values, selected) {
    shiny::selectInput(id, label, choices = values, selected = selected)
  }
  shiny::fluidPage(
    shiny::titlePanel("What would a private synthetic control show?"),
    shiny::p("Everything here is simulated. No data are read and no budget is spent."),
    shiny::sidebarLayout(
      shiny::sidebarPanel(
        choices("n", "Donors (people)", explore_donors, 1000),
        choices("size", "Treated people (at each date)", explore_size, 100),
        choices("protect", "Protected", explore_protect, "donors"),
        shiny::sliderInput("T0", "Periods before the (first) treatment", 4, 60, 18, step = 1),
        shiny::sliderInput("T1", "Periods from the (last) treatment date on", 1, 24, 6, step = 1),
        choices("dates", "Adoption dates", 1:4, 1),
        shiny::sliderInput("gap", "Periods between two adoption dates", 1, 12, 2, step = 1),
        choices("epsilon", "Epsilon", explore_epsilon, 1),
        choices("delta", "Delta", explore_delta, 1e-6),
        shiny::sliderInput("spread", "Standard deviation between people (% of the bounds' width)",
          2, 25, 10, step = 1
        ),
        shiny::numericInput("lower", paste("Lowest possible", outcome), bounds[[1L]]),
        shiny::numericInput("upper", paste("Highest possible", outcome), bounds[[2L]]),
        shiny::numericInput("effect", "True effect", signif(-unit / 15, 1)),
        choices("power", "Desired power", explore_power, 0.8),
        shiny::actionButton("again", "Draw again")
      ),
      shiny::mainPanel(
        shiny::h3("One simulated study"),
        shiny::plotOutput("picture", height = "380px"),
        shiny::p(shiny::textOutput("found")),
        shiny::h3("An adversary's chance"),
        shiny::p(shiny::textOutput("attacker")),
        shiny::h3("Split of the budget"),
        shiny::tableOutput("budget"),
        shiny::h3("Expected errors and power, before any data are read (dp_plan)"),
        shiny::tableOutput("plan"),
        shiny::p(shiny::textOutput("advice")),
        shiny::h3("Code"),
        shiny::verbatimTextOutput("code")
      )
    )
  )
}

explore_server <- function(outcome) {
  function(input, output, session) {
    design <- shiny::reactive({
      input$again
      explore_design(shiny::reactiveValuesToList(input), outcome)
    })
    fit <- shiny::reactive(said_in_app(explore_fit(design())))
    plan <- shiny::reactive(said_in_app(explore_plan(design())))
    output$picture <- shiny::renderPlot(ggplot2::autoplot(fit()), res = 96)
    output$found <- shiny::renderText(explore_finding(fit(), design()))
    output$attacker <- shiny::renderText(guarantee_words(fit()$release))
    output$budget <- shiny::renderTable(explore_budget(fit()$release), digits = 4)
    output$plan <- shiny::renderTable(plan_shown(plan()))
    output$advice <- shiny::renderText(paste(plan_advice(plan()), collapse = " "))
    output$code <- shiny::renderText(explore_code(design()))
  }
}

# Computations of the app as plain functions of a design ----------------------------------------

#' The value of code, or the displayed reason why a design cannot be released or planned, such as a
#' group that is too small
#' @noRd
said_in_app <- function(code) {
  tryCatch(code, dpsc_error = function(e) {
    shiny::validate(cli::ansi_strip(conditionMessage(e)))
  })
}

#' A design from the app's inputs, or a message for incomplete inputs
#' @return A list: `n`, `size`, `T0` (one number per date), `T1` (from the last date on), `epsilon`,
#'   `delta`, `spread` (share of the bounds' width), `bounds`, `effect` (outcome units), `power`,
#'   `protect`, `outcome`.
#' @noRd
explore_design <- function(input, outcome) {
  numbers <- lapply(input[c(
    "n", "size", "T0", "T1", "dates", "gap", "epsilon", "delta", "spread", "lower", "upper",
    "effect", "power"
  )], as.numeric)
  shiny::validate(
    shiny::need(all(vapply(numbers, is_number, NA)), "Fill in all numbers."),
    shiny::need(
      isTRUE(numbers$upper > numbers$lower), "The highest outcome must be above the lowest."
    ),
    shiny::need(
      isTRUE(abs(numbers$effect) < numbers$upper - numbers$lower),
      "The effect must be smaller than the range of the outcome."
    )
  )
  c(
    numbers[c("n", "size", "T1", "epsilon", "delta", "effect", "power")], list(
      T0 = numbers$T0 + numbers$gap * (seq_len(numbers$dates) - 1), protect = input$protect,
      spread = numbers$spread / 100, bounds = c(numbers$lower, numbers$upper), outcome = outcome
    )
  )
}

#' A simulated panel with the design's spread of people, in outcome units
#'
#' `sim_panel()` uses the bounds -1 and 1, which have width 2.
#' @return A list: `donors`, and `treated`, one row per person with the effect, date by date.
#' @noRd
explore_panel <- function(design) {
  half <- diff(design$bounds) / 2
  adopted <- rep(design$T0, each = design$size)
  rows <- sim_panel(design$n + length(adopted), min(design$T0),
    max(design$T0) - min(design$T0) + design$T1,
    unit_sd = 2 * design$spread, loading_sd = 0.75 * design$spread,
    time_sd = 0.5 * design$spread, noise_sd = 0.5 * design$spread
  )$donors
  rows <- mean(design$bounds) + half * rows
  donors <- seq_len(design$n)
  after <- outer(adopted, seq_len(ncol(rows)), `<`)
  list(
    donors = rows[donors, , drop = FALSE],
    treated = rows[-donors, , drop = FALSE] + design$effect * after
  )
}

explore_fit <- function(design) {
  panel <- explore_panel(design)
  everyone <- design$protect == "everyone"
  date <- rep(seq_along(design$T0), each = design$size)
  target <- if (everyone) panel$treated else cohort_means(panel$treated, date)
  if (!everyone) rownames(target) <- paste("simulated group", seq_along(design$T0))
  several <- length(design$T0) > 1L
  fit <- suppressWarnings(of_simulated(dp_synth(panel$donors,
    target = target, T0 = if (several && everyone) design$T0[date] else design$T0,
    epsilon = design$epsilon, delta = design$delta, bounds = design$bounds,
    size = if (!everyone) design$size, protect = design$protect
  )))
  named <- function(fit) {
    fit$release$panel$outcome <- design$outcome
    fit
  }
  if (several) fit$cohorts <- lapply(fit$cohorts, named)
  named(fit)
}

explore_finding <- function(fit, design) {
  row <- generics::tidy(fit, conf.int = TRUE)[1L, ]
  found <- paste0(
    "The true average effect is ", format_value(design$effect), ". The private estimate is ",
    format_value(row$estimate)
  )
  if (is.na(row$conf.low)) {
    return(paste0(
      found, ", without an interval, because the donors are too few or the budget is too small."
    ))
  }
  paste0(
    found, ", with the 95 % interval ", format_value(row$conf.low), " to ",
    format_value(row$conf.high), ", which ",
    if (row$conf.low > 0 || row$conf.high < 0) "excludes" else "includes", " an effect of 0."
  )
}

#' The split of the budget by step, in words for users, and for each of several accounts
#' @noRd
explore_budget <- function(release) {
  steps <- release$privacy$steps
  zcdp <- !anyNA(steps$rho)
  cost <- if (zcdp) steps$rho else steps$epsilon
  account <- steps$account %||% rep("donors", nrow(steps))
  out <- data.frame(
    step = steps$step, noise = law_words(steps$law), cost = cost,
    share = paste(round(100 * cost / stats::ave(cost, account, FUN = sum)), "%"),
    check.names = FALSE
  )
  if (length(unique(account)) > 1L) cbind(people = account, out) else out
}

#' The plan of a design and of the people from [explore_panel()]
#' @noRd
explore_plan <- function(design) eval(explore_question(design))

explore_question <- function(design) {
  unit <- diff(design$bounds)
  asked <- list(
    n = design$n, T0 = design$T0, T1 = design$T1, epsilon = design$epsilon, delta = design$delta,
    method = "gram", bounds = design$bounds, sd_between = signif(design$spread * unit, 6),
    sd_within = signif(0.7 * design$spread * unit, 6), shared = 0.87, size = design$size,
    protect = design$protect, power = design$power
  )
  # Power is undefined for an effect of zero.
  if (design$effect != 0) asked$effect <- design$effect
  as.call(c(quote(dp_plan), asked))
}

explore_code <- function(design) {
  plan <- paste(deparse(explore_question(design), width.cutoff = 90L), collapse = "\n")
  paste0(
    plan, "\n\ndp_synth(", design$outcome, " ~ treated, data = panel,",
    " index = c(\"person\", \"month\"),\n  epsilon = ", format(design$epsilon), ", delta = ",
    format(design$delta), ", bounds = c(",
    paste(format(design$bounds, trim = TRUE), collapse = ", "), "), protect = \"",
    design$protect, "\")"
  )
}
