"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Made, rule
from ingot.convert.to_torch.say import short, tupled
from ingot.convert.to_torch.site import Site
from ingot.errors import UnsupportedError

_FUNCTIONS: dict[str, tuple[str, float | None, float | None]] = {
    "relu": ("torch.relu", None, None),
    "tanh": ("torch.tanh", None, None),
    "sigmoid": ("torch.sigmoid", None, None),
    "softsign": ("F.softsign", None, None),
    "softplus": ("F.softplus", None, None),
    "affine": ("lambda x: {a} * x + {b}", 1.0, 0.0),
    "leakyrelu": ("lambda x: F.leaky_relu(x, {a})", 0.01, None),
    "thresholdedrelu": ("lambda x: torch.where(x >= {a}, x, 0.0)", 1.0, None),
    "scaledtanh": ("lambda x: {a} * torch.tanh({b} * x)", 1.0, 1.0),
    "hardsigmoid": ("lambda x: ({a} * x + {b}).clamp(0, 1)", 0.2, 0.5),
    "elu": ("lambda x: F.elu(x, {a})", 1.0, None),
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
) -> Made:
    count = _directions(direction)
    functions = _functions(activations, ("Sigmoid", "Tanh", "Tanh"), count, activation_alpha, activation_beta)
    said = _given(b=b, h=h, c=c) + ", backward=True" * (direction == "reverse") + ", batch_first=True" * bool(layout)
    if lengths is None and p is None and functions is None and clip is None and not input_forget:
        return _some(f"{site.use('lstm')}({x}, {w}, {r}{said})", len(site.node.outputs), 3)
    said += _given(p=p, lengths=lengths) + ("" if functions is None else f", functions={functions}")
    said += "" if clip is None else f", clip={short(clip)}"
    said += ", coupled=True" * bool(input_forget)
    return _some(f"{site.use('lstm_in_steps')}({x}, {w}, {r}{said})", len(site.node.outputs), 3)


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
) -> Made:
    count = _directions(direction)
    functions = _functions(activations, ("Sigmoid", "Tanh"), count, activation_alpha, activation_beta)
    said = _given(b=b, h=h) + ", backward=True" * (direction == "reverse") + ", batch_first=True" * bool(layout)
    if lengths is None and functions is None and clip is None and linear_before_reset:
        return _some(f"{site.use('gru')}({x}, {w}, {r}{said})", len(site.node.outputs), 2)
    said += _given(lengths=lengths) + ("" if functions is None else f", functions={functions}")
    said += "" if clip is None else f", clip={short(clip)}"
    said += ", linear=True" * bool(linear_before_reset)
    return _some(f"{site.use('gru_in_steps')}({x}, {w}, {r}{said})", len(site.node.outputs), 2)


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
) -> Made:
    count = _directions(direction)
    functions = _functions(
        tuple(activations)[:count] if activations else None, ("Tanh",), count, activation_alpha, activation_beta
    )
    said = _given(b=b, h=h) + ", backward=True" * (direction == "reverse") + ", batch_first=True" * bool(layout)
    said += _given(lengths=lengths) + ("" if functions is None else f", functions={functions}")
    said += "" if clip is None else f", clip={short(clip)}"
    return _some(f"{site.use('rnn_in_steps')}({x}, {w}, {r}{said})", len(site.node.outputs), 2)


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
    first, second = list(alphas or ()), list(betas or ())
    texts = []
    for name in wanted:
        if name.lower() not in _FUNCTIONS:
            raise UnsupportedError("its activation is none that is known")
        text, a, b = _FUNCTIONS[name.lower()]
        given_a = first.pop(0) if a is not None and first else a
        given_b = second.pop(0) if b is not None and second else b
        texts.append(text.format(a=short(given_a or 0.0), b=short(given_b or 0.0)) if "{" in text else text)
    size = len(default)
    return tupled(tupled(texts[place * size : (place + 1) * size]) for place in range(directions))


def _given(**operands: Operand | None) -> str:
    return "".join(f", {name}={operand}" for name, operand in operands.items() if operand is not None)


def _some(text: str, wanted: int, whole: int) -> str:
    return text if wanted == whole else f"{text}[0]" if wanted == 1 else f"{text}[:{wanted}]"
