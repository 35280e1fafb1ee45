.onUnload <- function(libpath) {
  library.dynam.unload("dpsc", libpath)
}
