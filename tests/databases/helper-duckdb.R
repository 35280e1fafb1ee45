# DuckDB by ADBC where package duckdb is not installed: its library from npm, spoken to as by DBI.
# DPSC_LIBDUCKDB is the path of libduckdb.so.

define_adbc <- function() {
  home <- globalenv()
  # S4 looks for the class in attached packages.
  if (!"package:DBI" %in% search()) attachNamespace("DBI")
  methods::setClass("duckdb_connection",
    contains = "DBIConnection", slots = list(adbc = "list"), where = home
  )
  methods::setMethod(DBI::dbGetQuery, c("duckdb_connection", "character"),
    function(conn, statement, ...) {
      as.data.frame(nanoarrow::convert_array_stream(
        adbcdrivermanager::read_adbc(conn@adbc$connection, statement)
      ))
    }, where = home
  )
  methods::setMethod(DBI::dbExecute, c("duckdb_connection", "character"),
    function(conn, statement, ...) {
      adbcdrivermanager::execute_adbc(conn@adbc$connection, statement)
      0L
    }, where = home
  )
  methods::setMethod(DBI::dbWriteTable, c("duckdb_connection", "character", "data.frame"),
    function(conn, name, value, temporary = FALSE, append = FALSE, ...) {
      adbcdrivermanager::write_adbc(value, conn@adbc$connection, name, temporary = temporary,
        mode = if (append) "append" else "create"
      )
      TRUE
    }, where = home
  )
  methods::setMethod(DBI::dbDisconnect, "duckdb_connection", function(conn, ...) {
    # Uncollected results keep the connection open.
    gc(FALSE)
    tryCatch(
      {
        adbcdrivermanager::adbc_connection_release(conn@adbc$connection)
        adbcdrivermanager::adbc_database_release(conn@adbc$database)
      },
      error = function(e) NULL
    )
    invisible(TRUE)
  }, where = home)
}

connect_adbc <- function(memory = NULL, folder = NULL) {
  if (!methods::isClass("duckdb_connection", where = globalenv())) define_adbc()
  driver <- adbcdrivermanager::adbc_driver(Sys.getenv("DPSC_LIBDUCKDB"), "duckdb_adbc_init")
  database <- adbcdrivermanager::adbc_database_init(driver)
  connection <- adbcdrivermanager::adbc_connection_init(database)
  con <- methods::new("duckdb_connection",
    adbc = list(database = database, connection = connection)
  )
  if (!is.null(memory)) DBI::dbExecute(con, sprintf("SET memory_limit = '%s'", memory))
  if (!is.null(folder)) DBI::dbExecute(con, sprintf("SET temp_directory = '%s'", folder))
  con
}
