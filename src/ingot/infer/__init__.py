"""Types, shapes and small integer values of everything in a model, before it runs."""

from ingot.infer.driver import infer

__all__ = ["infer"]
