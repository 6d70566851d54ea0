"""Text as token numbers, by the `tokenizer.json` that belongs to a model."""
