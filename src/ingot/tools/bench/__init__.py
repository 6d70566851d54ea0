"""Measuring engines against each other: each in a process of its own, in turns, on the same inputs."""
