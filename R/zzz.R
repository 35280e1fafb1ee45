.onLoad <- function(libname, pkgname) {
  announce_classes()
  # Tables are built here, once, not inside a user's call.
  force(mechanism_table)
  force(default_control)
  force(sql_dialect_table)
}

.onUnload <- function(libpath) {
  library.dynam.unload("dpsc", libpath)
}
