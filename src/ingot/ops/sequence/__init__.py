"""Operators on sequences of tensors and on optional values."""
