# Common search words that differ from the terms of the package. help.search() finds pages by these
# words, as does the search of the site (tools/build-site.R). Names of the papers are in
# show-papers.R. Each word leads to a page on its topic; tests/testthat/fixtures/typed-words.csv
# lists the words that must do so.

#' @name dp_synth
#' @concept causal inference
#' @concept treatment effect
#' @concept average treatment effect
#' @concept ATT
#' @concept counterfactual
#' @concept difference in differences
#' @concept difference-in-differences
#' @concept diff-in-diff
#' @concept fixed effects
#' @concept panel data
#' @concept policy evaluation
#' @concept case-control
#' @concept interrupted time series
NULL

#' @name dp_synth_intervals
#' @concept confidence interval
#' @concept p-value
#' @concept p value
#' @concept standard error
#' @concept significance
#' @concept hypothesis test
NULL

#' @name dp_synth_treated
#' @concept treated people
#' @concept consent
NULL

#' @name dp_synth_covariates
#' @concept confounders
#' @concept adjustment
#' @concept matching
NULL

#' @name dp_cohorts
#' @concept event study
#' @concept staggered adoption
#' @concept staggered treatment
#' @concept difference in differences
#' @concept difference-in-differences
#' @concept two-way fixed effects
#' @concept fixed effects
#' @concept TWFE
#' @concept dynamic effects
#' @concept pre-trends
NULL

#' @name conformal
#' @concept p-value
#' @concept p value
#' @concept confidence interval
#' @concept prediction interval
NULL

#' @name placebo_space
#' @concept permutation test
#' @concept randomisation inference
#' @concept randomization inference
#' @concept p-value
#' @concept RMSPE
#' @concept MSPE ratio
NULL

#' @name placebo_time
#' @concept parallel trends
#' @concept pre-trends
#' @concept robustness check
#' @concept in-time placebo
#' @concept backdating
NULL

#' @name leave_one_out
#' @concept robustness check
#' @concept jackknife
NULL

#' @name dp_plan
#' @concept sample size
#' @concept power
#' @concept power analysis
#' @concept minimum detectable effect
#' @concept how many people
#' @concept preregistration
NULL

#' @name dp_plan_lm
#' @concept sample size
#' @concept power
#' @concept power analysis
NULL

#' @name dp_plan_glm
#' @concept sample size
#' @concept power
#' @concept power analysis
NULL

#' @name dp_plan_select
#' @concept sample size
NULL

#' @name dp_explore
#' @concept power analysis
#' @concept simulation
#' @concept shiny
NULL

#' @name dp_lm
#' @concept OLS
#' @concept least squares
#' @concept multiple regression
#' @concept fixed effects
#' @concept dummy variables
#' @concept interaction
#' @concept R squared
NULL

#' @name dp_glm
#' @concept logit
#' @concept odds ratio
#' @concept binary outcome
#' @concept count data
NULL

#' @name dp_person
#' @concept clustered standard errors
#' @concept cluster-robust
#' @concept repeated measures
#' @concept longitudinal data
#' @concept user-level privacy
NULL

#' @name dp_describe
#' @concept table 1
#' @concept descriptive statistics
#' @concept summary statistics
#' @concept mean
#' @concept median
#' @concept quantile
#' @concept histogram
#' @concept percentage
NULL

#' @name dp_aggregate
#' @concept bootstrap
#' @concept any function
#' @concept black box
NULL

#' @name dp_ledger
#' @concept GDPR
#' @concept data protection
#' @concept accountability
#' @concept audit trail
#' @concept privacy loss
NULL

#' @name dp_release
#' @seealso `vignette("for-privacy-officers")`: roles, approval, and questions of data protection.
#' @concept GDPR
#' @concept HIPAA
#' @concept data protection
#' @concept anonymisation
#' @concept anonymization
#' @concept disclosure control
#' @concept publish
#' @concept open data
NULL

#' @rdname dp_table
#' @name dp_table
#' @concept SQL
#' @concept SQLite
#' @concept PostgreSQL
#' @concept DuckDB
#' @concept Parquet
#' @concept CSV file
#' @concept data warehouse
#' @concept big data
#' @concept dplyr
#' @concept arrow
NULL

#' @name preparing_data
#' @concept missing data
#' @concept imputation
#' @concept outliers
#' @concept winsorising
#' @concept winsorizing
#' @concept data cleaning
#' @concept log transformation
NULL

#' @name dp_roster
#' @concept enrolment
#' @concept enrollment
#' @concept waves
#' @concept missing periods
#' @concept unbalanced panel
NULL

#' @name dp_monitor
#' @concept surveillance
#' @concept new data
NULL

#' @name dp_control
#' @concept reproducible
#' @concept random seed
#' @concept set.seed
NULL

#' @rdname report
#' @name report
#' @concept methods section
#' @concept write-up
#' @concept manuscript
NULL

#' @name plot.dp_synth
#' @concept figure
#' @concept ggplot2
#' @concept graph
NULL

#' @name dp_select
#' @concept feature selection
#' @concept variable importance
#' @concept stepwise
NULL

#' @name dp_audit
#' @concept membership inference
#' @concept attack
#' @concept red team
NULL
