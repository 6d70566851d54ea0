"""Editing a model in the page: a list of edits gives the model, undo and redo, and the program that does the same."""
