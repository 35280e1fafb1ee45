.onLoad <- function(libname, pkgname) {
  announce_classes()
}

.onUnload <- function(libpath) {
  library.dynam.unload("dpsc", libpath)
}
