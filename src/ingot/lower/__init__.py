"""From primitives to kernels: what is stored, what is fused, and the loops that compute it."""
