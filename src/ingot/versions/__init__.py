"""Versions of operator sets: a model upgraded to the newest, to others, or to the oldest that can express it."""
