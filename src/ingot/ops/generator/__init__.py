"""Tensors out of nothing: constants, ranges, random numbers."""
