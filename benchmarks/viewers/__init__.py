"""How soon a model is seen: `ingot view` beside netron and Model Explorer, in one browser, in turns."""
