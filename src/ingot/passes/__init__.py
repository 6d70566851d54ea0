"""Graphs to graphs."""
