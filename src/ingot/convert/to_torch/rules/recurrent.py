"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import short, tupled
from ingot.convert.to_torch.site import Site
from ingot.errors import UnsupportedError
from ingot.ops.rnn.activations import default_parameters

_FUNCTIONS = {
    "relu": "torch.relu",
    "tanh": "torch.tanh",
    "sigmoid": "torch.sigmoid",
    "softsign": "F.softsign",
    "softplus": "F.softplus",
    "affine": "lambda x: {alpha} * x + {beta}",
    "leakyrelu": "lambda x: F.leaky_relu(x, {alpha})",
    "thresholdedrelu": "lambda x: torch.where(x >= {alpha}, x, 0.0)",
    "scaledtanh": "lambda x: {alpha} * torch.tanh({beta} * x)",
    "hardsigmoid": "lambda x: ({alpha} * x + {beta}).clamp(0, 1)",
    "elu": "lambda x: F.elu(x, {alpha})",
}


@rule("LSTM")
def lstm(
    site: Site,
    x: Operand,
    w: Operand,
    r: Operand,
    b: Operand | None = None,
    lengths: Operand | None = None,
    h: Operand | None = None,
    c: Operand | None = None,
    p: Operand | None = None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: int,
    layout: int,
    **_: object,
) -> Expression:
    count = _directions(direction)
    functions = _functions(activations, ("Sigmoid", "Tanh", "Tanh"), count, activation_alpha, activation_beta)
    options = (
        _keyword_arguments(b=b, h=h, c=c)
        + ", backward=True" * (direction == "reverse")
        + ", batch_first=True" * bool(layout)
    )
    if lengths is None and p is None and functions is None and clip is None and not input_forget:
        return _first_outputs(f"{site.use('lstm')}({x}, {w}, {r}{options})", len(site.node.outputs), 3)
    options += _keyword_arguments(p=p, lengths=lengths) + ("" if functions is None else f", functions={functions}")
    options += "" if clip is None else f", clip={short(clip)}"
    options += ", coupled=True" * bool(input_forget)
    return _first_outputs(f"{site.use('lstm_in_steps')}({x}, {w}, {r}{options})", len(site.node.outputs), 3)


@rule("GRU")
def gru(
    site: Site,
    x: Operand,
    w: Operand,
    r: Operand,
    b: Operand | None = None,
    lengths: Operand | None = None,
    h: Operand | None = None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int,
    linear_before_reset: int,
    **_: object,
) -> Expression:
    count = _directions(direction)
    functions = _functions(activations, ("Sigmoid", "Tanh"), count, activation_alpha, activation_beta)
    options = (
        _keyword_arguments(b=b, h=h)
        + ", backward=True" * (direction == "reverse")
        + ", batch_first=True" * bool(layout)
    )
    if lengths is None and functions is None and clip is None and linear_before_reset:
        return _first_outputs(f"{site.use('gru')}({x}, {w}, {r}{options})", len(site.node.outputs), 2)
    options += _keyword_arguments(lengths=lengths) + ("" if functions is None else f", functions={functions}")
    options += "" if clip is None else f", clip={short(clip)}"
    options += ", linear=True" * bool(linear_before_reset)
    return _first_outputs(f"{site.use('gru_in_steps')}({x}, {w}, {r}{options})", len(site.node.outputs), 2)


@rule("RNN")
def rnn(
    site: Site,
    x: Operand,
    w: Operand,
    r: Operand,
    b: Operand | None = None,
    lengths: Operand | None = None,
    h: Operand | None = None,
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    layout: int,
    **_: object,
) -> Expression:
    count = _directions(direction)
    functions = _functions(
        tuple(activations)[:count] if activations else None, ("Tanh",), count, activation_alpha, activation_beta
    )
    options = (
        _keyword_arguments(b=b, h=h)
        + ", backward=True" * (direction == "reverse")
        + ", batch_first=True" * bool(layout)
    )
    options += _keyword_arguments(lengths=lengths) + ("" if functions is None else f", functions={functions}")
    options += "" if clip is None else f", clip={short(clip)}"
    return _first_outputs(f"{site.use('rnn_in_steps')}({x}, {w}, {r}{options})", len(site.node.outputs), 2)


def _directions(direction: str) -> int:
    if direction not in ("forward", "reverse", "bidirectional"):
        raise UnsupportedError("its direction is none that is known")
    return 2 if direction == "bidirectional" else 1


def _functions(
    names: Sequence[str] | None,
    default: Sequence[str],
    directions: int,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
) -> str | None:
    """The activations as functions, one tuple a direction; None where they are those it has anyway."""
    wanted = list(names or [*default] * directions)
    if len(wanted) == len(default) and directions == 2:
        wanted *= 2
    if [name.lower() for name in wanted] == [name.lower() for name in default] * directions:
        return None
    left = {"alpha": iter(alphas or ()), "beta": iter(betas or ())}
    texts = []
    for name in wanted:
        if name.lower() not in _FUNCTIONS:
            raise UnsupportedError("its activation is none that is known")
        defaults = default_parameters(name)
        values = {parameter: short(next(left[parameter], value)) for parameter, value in defaults.items()}
        texts.append(_FUNCTIONS[name.lower()].format(**values))
    size = len(default)
    return tupled(tupled(texts[place * size : (place + 1) * size]) for place in range(directions))


def _keyword_arguments(**operands: Operand | None) -> str:
    return "".join(f", {name}={operand}" for name, operand in operands.items() if operand is not None)


def _first_outputs(text: str, wanted: int, whole: int) -> str:
    return text if wanted == whole else f"{text}[0]" if wanted == 1 else f"{text}[:{wanted}]"
