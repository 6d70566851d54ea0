"""Sequences of tokens that decoders, graphs within the operator, write one by one."""
