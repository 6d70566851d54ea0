"""Operators that make fewer elements of many: sums, extremes, norms, the places of extremes."""
