"""What a caller may ask of a quantisation, checked once."""

from __future__ import annotations

from typing import Any

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.errors import InputError, nearest

HALVES = ("float16", "bfloat16")
MODES = ("static", "dynamic", "weights", *HALVES)
CALIBRATIONS = ("minmax", "average", "entropy", "percentile", "mse")
GRANULARITIES = ("tensor", "channel", "block")
ENGINES = ("onnxruntime",)
METHODS = ("equalise", "smooth", "awq", "hqq", "gptq", "bias")
"""Ways to lose less than rounding to nearest does, in the order in which they are applied."""
WITHOUT_DATA = ("equalise", "hqq")
"""Methods that look at weights alone."""
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
RECURRENT = ("GRU", "LSTM", "RNN")
"""Operators with two weights, for what they read and for their state."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of `quantize`, with their defaults."""

    mode: str = "static"
    """`static`: activations by ranges that were measured; `dynamic`: by those of each run; `weights`: not at all.

    `float16` and `bfloat16`: no codes, but floats of 16 bits wherever that is safe."""
    activations: str = "uint8"
    weights: str = "int8"
    granularity: str | None = None
    """One scale for a weight (`tensor`), for each `channel` of the result, or for each `block` of its sums.

    None is a channel, and a block where weights alone are quantised."""
    block_size: int = 32
    symmetric_weights: bool = True
    symmetric_activations: bool = False
    reduced: bool = False
    """Weights of one bit less: for processors without VNNI, whose sums of 16 bits would saturate."""
    integer_biases: bool = True
    """Whether a static quantisation writes biases as codes of 32 bits; else they stay in float."""
    calibration: str = "minmax"
    percentile: float = 99.99
    methods: tuple[str, ...] = ()
    """Any of `METHODS`; without, weights are rounded to nearest."""
    operators: tuple[str, ...] = PRODUCTS + RECURRENT
    include: tuple[str, ...] = ()
    """Names of nodes, and patterns, that alone are quantised; none are all."""
    exclude: tuple[str, ...] = ()
    """Names of nodes that stay in float, patterns with * and ? among them."""
    strict_names: bool = True
    """Whether a name in `include` or `exclude` has to be that of a product."""
    activation_products: bool = False
    """Whether products of two computed matrices, as in attention, are quantised too."""
    snr: float | None = None
    """A budget: the least signal over noise of the outputs, in decibels."""
    accuracy: float | None = None
    """A budget: the part of the original's score that the quantised model has to reach, as `evaluate` measures it."""
    engine: str | None = None
    """An engine that the model is written for; None writes for all that read the standard."""

    @property
    def scales(self) -> str:
        """What a scale of a weight is for: the granularity, or its default."""
        return self.granularity or ("block" if self.mode == "weights" else "channel")

    @property
    def opset(self) -> int:
        """The first version of the standard operators that has what is written: scales of channels, blocks, 2 bits."""
        if self.weight_dtype.bits == 2:
            return 25
        return 21 if self.weight_dtype.bits == 4 or self.scales == "block" else 13

    @property
    def activation_dtype(self) -> DType:
        return DType.of(self.activations)

    @property
    def weight_dtype(self) -> DType:
        return DType.of(self.weights)


def options_from(settings: dict[str, Any]) -> Options:
    """Options of these names; InputError with what there is if one is unknown or has no such value."""
    known = tuple(Options.__slots__)
    for name in settings:
        if name not in known:
            raise InputError(f"there is no option '{name}'", hint=nearest(name, known) or f"one of {', '.join(known)}")
    for name in ("methods", "operators", "include", "exclude"):
        if isinstance(settings.get(name), str):
            settings[name] = (settings[name],)
        elif name in settings:
            settings[name] = tuple(settings[name])
    options = Options(**settings)
    _one_of("mode", options.mode, MODES)
    _one_of("calibration", options.calibration, CALIBRATIONS)
    _one_of("granularity", options.scales, GRANULARITIES)
    _one_of("activations", options.activations, ("uint8", "int8"))
    narrow = ("int8", "uint8", "int4", "uint4", "int2", "uint2") if options.mode == "weights" else ("int8", "uint8")
    _one_of("weights", options.weights, narrow)
    if options.engine is not None:
        _one_of("engine", options.engine, ENGINES)
    for method in options.methods:
        _one_of("method", method, METHODS)
    for operator in options.operators:
        _one_of("operator", operator, PRODUCTS + RECURRENT)
    if not 0 < options.percentile <= 100:
        raise InputError(f"the percentile is {options.percentile}, which is not between 0 and 100")
    if options.block_size < 2:
        raise InputError(f"blocks of {options.block_size} share no scale", hint="a power of two from 16 on")
    if options.scales == "block" and options.mode != "weights":
        raise InputError(f"blocks are for weights alone, the mode is '{options.mode}'", hint="mode='weights'")
    return options


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        hint = f"one of {', '.join(known)}" if known else "there is none yet"
        raise InputError(f"there is no {name} '{value}'", hint=hint)
