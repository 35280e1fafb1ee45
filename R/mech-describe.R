# The method of dp_describe(), as the table of methods has it.

#' @noRd
describe_mechanism <- function() {
  new_mechanism("dp_describe", title = "counts, quantiles and moments by group", needs = "blocks",
    theorem = function(gaussian) {
      if (gaussian) {
        paste("exponential and discrete Gaussian mechanisms, zero-concentrated composition",
          "(Bun and Steinke, 2016; proofs/describe.md)")
      } else {
        paste("exponential and discrete Laplace mechanisms, whose epsilons add up",
          "(Dwork and Roth, 2014; proofs/describe.md)")
      }
    }
  )
}
