"""Models as Python programs that build or compute them."""
