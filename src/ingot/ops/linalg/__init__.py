"""Products of matrices, of quantised matrices, and of tensors by subscripts; determinants."""
