"""Fusion: primitives to kernels; which tensors are stored, and the loop nests that store them."""
