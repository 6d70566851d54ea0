"""The rules, in files by family."""
