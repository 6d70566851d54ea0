"""The rules for layers, a family a file."""
