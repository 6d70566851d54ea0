"""Lowering: a typed graph to primitives, after branches were specialised; bodies outlined, their invariants hoisted."""
