"""Operators that run graphs: branches and loops."""
