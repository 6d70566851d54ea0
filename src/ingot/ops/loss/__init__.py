"""Losses of classifiers."""
