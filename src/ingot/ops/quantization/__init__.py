"""Operators between real numbers and the few bits that stand for them."""
