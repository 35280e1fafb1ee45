# Methods for table packages (modelsummary, parameters), with readable terms and rounded numbers.

#' Estimates in the form of package parameters
#' @param labels (`character`)\cr readable terms.
#' @param table (`data.frame`)\cr a table from `tidy()`, with limits.
#' @param df (`number`)\cr degrees of freedom; `Inf`: normal.
#' @noRd
parameters_table <- function(labels, table, ci, df = Inf) {
  known <- function(name) table[[name]] %||% rep(NA_real_, nrow(table))
  out <- data.frame(
    Parameter = labels, Coefficient = table$estimate, SE = known("std.error"), CI = ci,
    CI_low = known("conf.low"), CI_high = known("conf.high"), statistic = known("statistic"),
    df_error = df, p = known("p.value")
  )
  names(out)[[7L]] <- if (is.finite(df)) "t" else "z"
  attr(out, "ci") <- ci
  class(out) <- c("parameters_model", "see_parameters_model", "data.frame")
  out
}

# modelsummary passes NULL if the user requests no limits.
table_level <- function(ci) ci %||% 0.95

#' @exportS3Method parameters::model_parameters
model_parameters.dp_regression <- function(model, ci = 0.95, exponentiate = FALSE,
                                           ...) door("model_parameters", {
  ci <- table_level(ci)
  table <- generics::tidy(model, conf.int = TRUE, conf.level = ci, exponentiate = exponentiate)
  out <- parameters_table(table$term, table, ci, degrees_of(model))
  # The error is to first order, as for other models.
  if (exponentiate) out$SE <- out$SE * out$Coefficient
  attr(out, "exponentiate") <- exponentiate
  out
})

#' @exportS3Method parameters::model_parameters
model_parameters.dp_synth <- function(model, ci = 0.95, ...) door("model_parameters", {
  out <- effects_to_read(model, table_level(ci))
  attr(out, "coefficient_name") <- "Effect"
  out
})

#' @exportS3Method parameters::model_parameters
model_parameters.dp_cohorts <- model_parameters.dp_synth

#' @exportS3Method parameters::model_parameters
model_parameters.dp_outcomes <- model_parameters.dp_synth

effects_to_read <- function(fit, ci) {
  if (inherits(fit, "dp_outcomes")) {
    each <- lapply(fit$outcomes, effects_to_read, ci = ci)
    out <- do.call(rbind, each)
    # Other packages would read a colon as an interaction.
    out$Parameter <- paste0(rep(names(each), vapply(each, nrow, 0L)), ", ", out$Parameter)
    rownames(out) <- NULL
    attributes(out) <- c(attributes(out), list(ci = ci)[is.null(attr(out, "ci"))])
    return(out)
  }
  table <- generics::tidy(fit, conf.int = TRUE, conf.level = ci)
  if (inherits(fit, "dp_cohorts")) {
    table <- table[table$kind %in% "effect", ]
    return(parameters_table(adoption_terms(table$event), table, ci))
  }
  terms <- ifelse(table$term == "average", "average", paste("period", table$term))
  table$term <- terms
  parameters_table(sub(": ", ", ", effect_names(table), fixed = TRUE), table, ci)
}

#' Words for periods since adoption
#' @param event (`integer`)\cr `NA`: the average.
#' @noRd
adoption_terms <- function(event) {
  words <- paste0(event, " period", ifelse(abs(event) == 1L, "", "s"), " after adoption")
  ifelse(is.na(event), "average", ifelse(event == 0L, "period of adoption", words))
}

# Rows below the estimates. modelsummary rounds the statistics that it knows and shows all others in
# full.

#' @exportS3Method modelsummary::glance_custom
glance_custom.dp_synth <- function(x, ...) rounded_facts(generics::glance(x))

#' @exportS3Method modelsummary::glance_custom
glance_custom.dp_cohorts <- glance_custom.dp_synth

#' @exportS3Method modelsummary::glance_custom
glance_custom.dp_regression <- glance_custom.dp_synth

rounded_facts <- function(facts) {
  rounds_itself <- c("nobs", "r.squared", "sigma", "statistic", "p.value")
  broken <- vapply(facts, function(x) {
    is.double(x) && is.finite(x) && x != round(x)
  }, NA)
  facts <- facts[broken & !names(facts) %in% rounds_itself]
  if (length(facts)) as.data.frame(lapply(facts, format, digits = 3L))
}
