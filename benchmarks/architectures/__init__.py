"""The networks of the zoo: `transformers` at their real sizes with random weights, and a few lines of torch."""
