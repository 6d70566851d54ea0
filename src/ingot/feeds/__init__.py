"""Arrays for the inputs of a model, read from files."""
