"""The rules for the operations of keras.ops, a family a file."""
