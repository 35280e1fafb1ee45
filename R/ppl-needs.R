# What a method needs of people's rows, from the least: sums, made wherever the rows are; blocks of
# rows, one after the other, as often as it asks; all rows at once.
row_needs <- c("sums", "blocks", "rows")
