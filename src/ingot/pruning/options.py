"""What a caller may ask of a pruning, checked once."""

from __future__ import annotations

from typing import Any

from ingot.dataclass import dataclass
from ingot.errors import InputError, nearest
from ingot.quantise.options import PRODUCTS, RECURRENT

SCOPES = ("layer", "model")


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of `prune`, with their defaults."""

    sparsity: float | None = None
    """The part of the weights of products that becomes zero: those of the least magnitude."""
    pattern: str | None = None
    """`N:M`, as in `2:4`: of M weights in a row, along what a product sums, N stay."""
    scope: str = "layer"
    """Whose weights `sparsity` is a part of: those of each `layer`, or of the `model`, in which some lose more."""
    channels: bool = True
    """Whether channels that nothing depends on are removed."""
    operators: tuple[str, ...] = PRODUCTS + RECURRENT
    include: tuple[str, ...] = ()
    """Names of nodes, and patterns, that alone are pruned; none are all."""
    exclude: tuple[str, ...] = ()
    """Names of nodes that stay dense, patterns with * and ? among them."""
    snr: float | None = None
    """A budget: the least signal over noise of the outputs, in decibels."""
    accuracy: float | None = None
    """A budget: the part of the original's score that the pruned model has to reach, as `evaluate` measures it."""

    @property
    def prunes_weights(self) -> bool:
        return self.sparsity is not None or self.pattern is not None

    @property
    def row(self) -> tuple[int, int] | None:
        """The numbers of `pattern`: how many stay, of how many."""
        if self.pattern is None:
            return None
        count, _, of = self.pattern.partition(":")
        return int(count), int(of)


def options_from(settings: dict[str, Any]) -> Options:
    """Options of these names; InputError with what there is if one is unknown or has no such value."""
    known = tuple(Options.__slots__)
    for name in settings:
        if name not in known:
            raise InputError(f"there is no option '{name}'", hint=nearest(name, known) or f"one of {', '.join(known)}")
    for name in ("operators", "include", "exclude"):
        if name in settings:
            chosen = settings[name]
            settings[name] = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    options = Options(**settings)
    _check(options)
    return options


def _check(options: Options) -> None:
    if options.sparsity is not None and options.pattern is not None:
        raise InputError("a pattern has its own sparsity", hint="give sparsity, or pattern")
    if options.sparsity is not None and not 0 <= options.sparsity < 1:
        raise InputError(f"the sparsity is {options.sparsity:g}, which is no part below 1", hint="0.5")
    if options.pattern is not None:
        parts = options.pattern.split(":")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts) or not 0 < int(parts[0]) < int(parts[1]):
            raise InputError(f"'{options.pattern}' is no pattern of weights", hint="2:4 leaves two of four")
    if options.scope not in SCOPES:
        raise InputError(f"there is no scope '{options.scope}'", hint=f"one of {', '.join(SCOPES)}")
    for operator in options.operators:
        if operator not in PRODUCTS + RECURRENT:
            known = ", ".join(PRODUCTS + RECURRENT)
            raise InputError(f"there is no operator '{operator}' to prune", hint=f"one of {known}")
    if not options.prunes_weights:
        if options.snr is not None or options.accuracy is not None:
            raise InputError("a budget is for weights that become zero", hint="give sparsity, or pattern")
        if options.include or options.exclude:
            raise InputError("names are of products whose weights become zero", hint="give sparsity, or pattern")
        if not options.channels:
            raise InputError("there is nothing to prune", hint="give sparsity, or pattern, or channels=True")
