"""Versions of operator sets: a model upgraded to the newest, converted to others, or to the oldest that can say it."""
