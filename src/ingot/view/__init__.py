"""Looking at a model: its groups, their layout, and the page that shows them."""
