"""Questions about a graph: what is known of a value, also past operators that nobody knows."""
