"""The operators: one operator, one place, in folders by family."""
