"""Providers: who runs a model. `reference` is numpy, `cpu` machine code made for the processor at hand."""
