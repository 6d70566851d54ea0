"""Tools on top of sessions: measuring against other engines."""
