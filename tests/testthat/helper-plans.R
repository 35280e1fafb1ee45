# Plans with few simulated releases, for tests of claims that do not depend on their number. In
# `make audit` the number of releases is the number for users.
local_quick_plans <- function(frame = parent.frame()) {
  if (is_audit()) return(invisible())
  namespace <- asNamespace("dpsc")
  few <- list(
    plan_releases = 24L, plan_intervals = 8L, plan_studies = 12L, plan_searched = 8L,
    study_intervals = 6L, few_studies = c(8L, 4L)
  )
  replace <- function(values) {
    # The question alone identifies a remembered result.
    rm(list = ls(namespace$plan_memory), envir = namespace$plan_memory)
    for (name in names(values)) {
      unlockBinding(name, namespace)
      assign(name, values[[name]], namespace)
      lockBinding(name, namespace)
    }
  }
  own <- mget(names(few), namespace)
  withr::defer(replace(own), envir = frame)
  replace(few)
}
