"""Layers that cannot be expressed: other frameworks' code in a layer."""

from __future__ import annotations

from typing import Any

from ingot.convert.keras.rule import refusal


@refusal("TFSMLayer")
def saved_model(layer: Any) -> str | None:
    return "it calls a SavedModel of TensorFlow: convert that"


@refusal("TorchModuleWrapper")
def torch_module(layer: Any) -> str | None:
    return "it calls a module of PyTorch: convert that"


@refusal("JaxLayer", "FlaxLayer")
def jax_function(layer: Any) -> str | None:
    return "it calls a function of JAX"
