"""From a typed graph to primitives: what is assumed of sizes, each node by its operator's rule, and outlined bodies."""
