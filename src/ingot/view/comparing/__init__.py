"""Two models in one page: merged into one picture or side by side, and what differs, each with its place."""
