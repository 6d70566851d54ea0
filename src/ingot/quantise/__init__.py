"""Quantisation: a float model to one of narrow integers, with its error measured against the original."""
