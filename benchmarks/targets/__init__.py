"""The tables of targets: how each is made from what the target itself says, and how often it is right."""
