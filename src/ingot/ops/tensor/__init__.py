"""Moving elements about: shapes, slices, gathers, casts."""
