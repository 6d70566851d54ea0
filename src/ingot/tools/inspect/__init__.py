"""Inspection of a compiled model: its stages as text, the fate of each node, and the time of each kernel."""
