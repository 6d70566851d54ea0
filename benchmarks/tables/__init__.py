"""The parts of the tables of operators and of patterns: cases, their measurement, and the page."""
