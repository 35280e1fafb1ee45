# Replaces an internal function of the package while `code` runs.
with_internal <- function(name, value, code) {
  namespace <- asNamespace("dpsc")
  own <- get(name, namespace)
  replace <- function(x) {
    unlockBinding(name, namespace)
    assign(name, x, namespace)
    lockBinding(name, namespace)
  }
  withr::defer(replace(own))
  replace(value)
  code
}
