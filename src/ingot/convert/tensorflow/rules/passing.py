"""Operators that give what they are given, and those that only have effects."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast
from ingot.convert.tensorflow.resource import Resource
from ingot.convert.tensorflow.rule import Site, rule
from ingot.errors import UnsupportedError


@rule(
    "Identity",
    "StopGradient",
    "PreventGradient",
    "Snapshot",
    "CheckNumerics",
    "CheckNumericsV2",
    "EnsureShape",
    "PlaceholderWithDefault",
    "DeepCopy",
    "DebugIdentityV2",
    pairs=True,
)
def identity(site: Site, x: Any) -> Any:
    return x


@rule("IdentityN", pairs=True)
def identity_n(site: Site, *values: Any) -> Any:
    return values


@rule("ReadVariableOp")
def read_variable(site: Site, variable: Any) -> Var:
    if not isinstance(variable, Resource):
        raise UnsupportedError("a variable that the function makes itself")
    value: Var = site.read(variable, site.op.outputs[0].dtype)
    return value


@rule("VarIsInitializedOp")
def is_initialized(site: Site, variable: Any) -> Any:
    return np.array(isinstance(variable, Resource))


@rule("VariableShape")
def variable_shape(site: Site, variable: Any) -> Any:
    held = site.read(variable, variable.handle._handle_data.shape_and_type[0].dtype)
    return cast(op.Shape(held), site.dtype)
