"""Looking inside a compiled model: its stages as text, what became of each node, and how long each kernel takes."""
