# An app for planning. It sees no data: every panel in it is simulated.

#' Explore a design before any data are touched
#'
#' A small app (package shiny): choose the numbers of donors and periods, the budget and the spread
#' of people, and see a simulated panel, its private fit, the expected interval, the split of the
#' budget, and an attacker's possible gain. **It takes no data**: everything is simulated, so
#' nothing in it costs anybody's privacy.
#'
#' @param outcome (`string`)\cr name of the outcome, for the labels.
#' @param bounds (`numeric(2)`)\cr public limits of the outcome to start with.
#' @return A shiny app object, which runs when it is printed.
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

# Choices on a scale where every step doubles or so.
explore_epsilon <- c(0.1, 0.25, 0.5, 1, 2, 4, 8)
explore_delta <- c(`1e-9` = 1e-9, `1e-6` = 1e-6, `1e-5` = 1e-5, `0 (pure)` = 0)
explore_donors <- c(50, 100, 200, 300, 500, 1000, 2000, 3000, 5000)

explore_page <- function(outcome, bounds) {
  unit <- diff(bounds)
  choices <- function(id, label, values, selected) {
    shiny::selectInput(id, label, choices = values, selected = selected)
  }
  shiny::fluidPage(
    shiny::titlePanel("What would a private synthetic control show?"),
    shiny::p("Everything here is simulated. No data are read, no privacy is spent."),
    shiny::sidebarLayout(
      shiny::sidebarPanel(
        choices("n", "Donors (people)", explore_donors, 1000),
        shiny::sliderInput("T0", "Periods before the treatment", 4, 60, 18, step = 1),
        shiny::sliderInput("T1", "Periods from the treatment on", 1, 24, 6, step = 1),
        choices("epsilon", "Epsilon", explore_epsilon, 1),
        choices("delta", "Delta", explore_delta, 1e-6),
        shiny::sliderInput("spread", "Spread of people (standard deviation, % of the bounds)",
          2, 25, 10, step = 1
        ),
        shiny::numericInput("lower", paste("Lowest possible", outcome), bounds[[1L]]),
        shiny::numericInput("upper", paste("Highest possible", outcome), bounds[[2L]]),
        shiny::numericInput("effect", "True effect", signif(-unit / 15, 1)),
        shiny::actionButton("again", "Draw again")
      ),
      shiny::mainPanel(
        shiny::h3("One simulated study"),
        shiny::plotOutput("picture", height = "380px"),
        shiny::p(shiny::textOutput("found")),
        shiny::h3("Gain from a guess"),
        shiny::p(shiny::textOutput("attacker")),
        shiny::h3("Split of the budget"),
        shiny::tableOutput("budget"),
        shiny::h3("Expected error before any data (dp_plan)"),
        shiny::tableOutput("plan"),
        shiny::h3("In code"),
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
    fit <- shiny::reactive(explore_fit(design()))
    output$picture <- shiny::renderPlot(autoplot.dp_synth(fit()), res = 96)
    output$found <- shiny::renderText(explore_finding(fit(), design()))
    output$attacker <- shiny::renderText(guarantee_words(fit()$release))
    output$budget <- shiny::renderTable(explore_budget(fit()$release), digits = 4)
    output$plan <- shiny::renderTable(explore_plan(design()), digits = 3)
    output$code <- shiny::renderText(explore_code(design()))
  }
}

# The app's computations: plain functions of a design -------------------------------------------

#' A design from the app's inputs; inputs not yet valid give a message
#' @return A list: `n`, `T0`, `T1`, `epsilon`, `delta`, `spread` (share of the bounds), `bounds`,
#'   `effect` (outcome units), `outcome`.
#' @noRd
explore_design <- function(input, outcome) {
  numbers <- lapply(
    input[c("n", "T0", "T1", "epsilon", "delta", "spread", "lower", "upper", "effect")], as.numeric
  )
  shiny::validate(
    shiny::need(all(vapply(numbers, is_number, NA)), "Fill in all numbers."),
    shiny::need(
      isTRUE(numbers$upper > numbers$lower), "The highest outcome must be above the lowest."
    )
  )
  c(
    numbers[c("n", "T0", "T1", "epsilon", "delta", "effect")],
    list(spread = numbers$spread / 100, bounds = c(numbers$lower, numbers$upper), outcome = outcome)
  )
}

#' A simulated panel with the design's spread of people, in outcome units
#'
#' `sim_panel()` lives on -1 to 1, where the bounds' width is 2.
#' @noRd
explore_panel <- function(design) {
  half <- diff(design$bounds) / 2
  panel <- sim_panel(design$n, design$T0, design$T1,
    effect = design$effect / half, unit_sd = 2 * design$spread, loading_sd = 0.75 * design$spread,
    time_sd = 0.5 * design$spread, noise_sd = 0.5 * design$spread
  )
  to_units <- function(x) mean(design$bounds) + half * x
  list(donors = to_units(panel$donors), target = to_units(panel$target))
}

explore_fit <- function(design) {
  panel <- explore_panel(design)
  target <- matrix(panel$target, 1L, dimnames = list("simulated unit", NULL))
  fit <- suppressWarnings(dp_synth(panel$donors,
    target = target, T0 = design$T0, epsilon = design$epsilon, delta = design$delta,
    bounds = design$bounds
  ))
  fit$release$panel$outcome <- design$outcome
  fit
}

explore_finding <- function(fit, design) {
  row <- tidy.dp_synth(fit, conf.int = TRUE)[1L, ]
  half <- (row$conf.high - row$conf.low) / 2
  found <- paste0(
    "The true average effect is ", format_value(design$effect), ". The private estimate is ",
    format_value(row$estimate)
  )
  if (is.na(half)) {
    return(paste0(
      found, ", without an interval: there are too few donors, or the budget is too small."
    ))
  }
  paste0(
    found, ", with the 95 % interval ", format_value(row$conf.low), " to ",
    format_value(row$conf.high), ". ",
    if (abs(design$effect) > half) {
      "An effect of this size exceeds the interval's half-width: it would usually be detected."
    } else {
      paste0(
        "An effect smaller than about ", format_value(half), " would usually be missed: take more ",
        "donors, more budget or more periods."
      )
    }
  )
}

#' Where the budget goes, step by step, in a user's words
#' @noRd
explore_budget <- function(release) {
  steps <- release$privacy$steps
  zcdp <- !anyNA(steps$rho)
  cost <- if (zcdp) steps$rho else steps$epsilon
  data.frame(
    step = steps$step, noise = gsub("_", " ", steps$law), cost = cost,
    share = paste(round(100 * cost / sum(cost)), "%"), check.names = FALSE
  )
}

explore_plan <- function(design) {
  # Spreads of explore_panel()'s people.
  unit <- diff(design$bounds)
  plan <- dp_plan(
    n = design$n, T0 = design$T0, T1 = design$T1, epsilon = design$epsilon, delta = design$delta,
    bounds = design$bounds, method = if (design$delta > 0) c("gram", "output") else "gram",
    sd_between = design$spread * unit, sd_within = 0.7 * design$spread * unit, shared = 0.87
  )
  plan$table[c("method", "error", "privacy", "floor", "average", "half_width")]
}

explore_code <- function(design) {
  paste0(
    "dp_synth(", design$outcome, " ~ treated, data = panel, index = c(\"person\", \"month\"),\n",
    "  epsilon = ", format(design$epsilon), ", delta = ", format(design$delta), ", bounds = c(",
    paste(format(design$bounds, trim = TRUE), collapse = ", "), "))"
  )
}
