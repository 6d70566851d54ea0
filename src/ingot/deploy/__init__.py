"""Models as programs of their own, for machines that have no Python."""
