"""Scheduling: loop nests adapted to a machine; tiles, vectors, unroll-and-jam, and what threads share."""
