"""Reductions of axes."""

from __future__ import annotations

from collections.abc import Callable

from ingot.convert.to_torch.operand import Operand, Sizes
from ingot.convert.to_torch.rule import Expression, Rule, rule
from ingot.convert.to_torch.say import integer, ints, tupled
from ingot.convert.to_torch.say import total as product
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType

_WHOLE = "tuple(range({}.ndim))"


def axes_text(data: Operand, axes: Operand | None, noop: int) -> str | None:
    """What `dim=` is given: a number, a tuple, an expression; None where no axis is reduced."""
    if axes is None or axes.shape == (0,):
        if noop:
            return None
        return tupled(range(data.rank)) if data.rank is not None else _WHOLE.format(data)
    if axes.sizes is None:
        if axes.rank == 1 and noop == 0 and axes.shape is not None and not isinstance(axes.shape[0], int):
            return f"({ints(axes)} or {_WHOLE.format(data)})"
        return ints(axes)
    return str(axes.sizes[0]) if len(axes.sizes) == 1 else tupled(axes.sizes)


def _reduction(
    text: Callable[[Site, Operand], str], each: Callable[[str], str] = lambda x: x
) -> Callable[..., Expression]:
    """A rule: `text` has places for the tensor and its arguments, `each` is what is left where nothing is reduced."""

    def write(
        site: Site, data: Operand, axes: Operand | None = None, *, keepdims: int, noop_with_empty_axes: int
    ) -> Expression:
        dims = axes_text(data, axes, noop_with_empty_axes)
        if dims is None:
            prepared = each(str(data))
            return data if prepared == str(data) else prepared
        if dims == "()":
            return text(site, data).format(x=f"{data}.reshape(1)", args="dim=0")
        return text(site, data).format(x=data, args=f"dim={dims}{', keepdim=True' if keepdims else ''}")

    return write


def _whole(site: Site, data: Operand) -> str:
    """The element type of a sum, where torch would take a wider one."""
    dtype = data.dtype
    if dtype is None or not dtype.is_integer or dtype is DType.INT64:
        return ""
    return f", dtype={site.torch_dtype()}"


def _mean(site: Site, data: Operand) -> str:
    if data.is_integer:
        return f"{{x}}.to(torch.float64).mean({{args}}).to({site.torch_dtype()})"
    return "{x}.mean({args})"


def _norm(site: Site, data: Operand) -> str:
    if data.is_integer:
        return f"{{x}}.to(torch.float64).square().sum({{args}}).sqrt().to({site.torch_dtype()})"
    return "torch.linalg.vector_norm({x}, {args})"


def _log_sum_exp(site: Site, data: Operand) -> str:
    if data.is_integer:
        return f"torch.logsumexp({{x}}.to(torch.float64), {{args}}).to({site.torch_dtype()})"
    return "torch.logsumexp({x}, {args})"


def _log_sum(site: Site, data: Operand) -> str:
    if data.is_integer:
        return f"torch.log({{x}}.to(torch.float64).sum({{args}})).to({site.torch_dtype()})"
    return "{x}.sum({args}).log()"


def _extreme(function: str) -> Callable[[Site, Operand], str]:
    def text(site: Site, data: Operand) -> str:
        if data.shape is None or 0 not in data.shape:
            return f"{{x}}.{function}({{args}})"
        return f"{site.use('extreme_of_few')}({{x}}, '{function}', {{args}})".replace("'", '"')

    return text


REDUCTIONS: list[Rule[..., Expression]] = [
    rule("ReduceSum", widens_all=True)(_reduction(lambda site, data: f"{{x}}.sum({{args}}{_whole(site, data)})")),
    rule("ReduceMean", widens=True)(_reduction(_mean)),
    rule("ReduceMax", orders=True)(_reduction(_extreme("amax"))),
    rule("ReduceMin", orders=True)(_reduction(_extreme("amin"))),
    rule("ReduceL1", widens=True)(
        _reduction(lambda site, data: f"{{x}}.abs().sum({{args}}{_whole(site, data)})", "{}.abs()".format)
    ),
    rule("ReduceL2", widens=True)(_reduction(_norm, "{}.abs()".format)),
    rule("ReduceSumSquare", widens=True)(
        _reduction(lambda site, data: f"{{x}}.square().sum({{args}}{_whole(site, data)})", "{}.square()".format)
    ),
    rule("ReduceLogSum", widens=True)(_reduction(_log_sum, "{}.log()".format)),
    rule("ReduceLogSumExp", widens=True)(_reduction(_log_sum_exp)),
]


@rule("ReduceProd", widens_all=True)
def reduce_prod(
    site: Site, data: Operand, axes: Operand | None = None, *, keepdims: int, noop_with_empty_axes: int
) -> Expression:
    if data.sizes is not None and not keepdims and data.dtype is DType.INT64 and data.rank == 1:
        return Sizes((product(data.sizes),), is_scalar=True)
    dims = axes_text(data, axes, noop_with_empty_axes)
    if dims is None:
        return data
    dtype = _whole(site, data)
    if axes is None and not keepdims:
        return f"{data}.prod({dtype.removeprefix(', ')})"
    keep = ", keepdim=True" if keepdims else ""
    if axes is not None and axes.sizes is not None and len(axes.sizes) == 1:
        return f"{data}.prod(dim={dims}{keep}{dtype})"
    return f"{site.use('product_over')}({data}, {dims}{keep})"


def _place(function: str) -> Callable[..., Expression]:
    def write(site: Site, data: Operand, *, axis: int, keepdims: int, select_last_index: int) -> Expression:
        if select_last_index:
            return f"{site.use('last_place')}(torch.{function}, {data}, dim={axis}, keepdim={bool(keepdims)})"
        return f"{data}.{function}(dim={axis}{', keepdim=True' if keepdims else ''})"

    return write


PLACES: list[Rule[..., Expression]] = [
    rule("ArgMax", orders=True)(_place("argmax")),
    rule("ArgMin", orders=True)(_place("argmin")),
]


@rule("TopK", orders=True)
def top_k(site: Site, x: Operand, k: Operand, *, axis: int, largest: int, sorted: int) -> Expression:
    return f"{site.use('top_k')}({x}, {integer(k)}, {axis}{'' if largest else ', largest=False'})"


def _cumulative(function: str) -> Callable[..., Expression]:
    def write(site: Site, x: Operand, axis: Operand, *, exclusive: int, reverse: int) -> Expression:
        along = integer(axis)
        if not exclusive and not reverse:
            return f"{x}.{function}(dim={along}{_whole(site, x)})"
        options = ", exclusive=True" * bool(exclusive) + ", reverse=True" * bool(reverse)
        return f"{site.use('cumulative')}(torch.{function}, {x}, {along}{options})"

    return write


CUMULATIVE: list[Rule[..., Expression]] = [
    rule("CumSum", widens_all=True)(_cumulative("cumsum")),
    rule("CumProd", widens_all=True)(_cumulative("cumprod")),
]


@rule("GlobalAveragePool")
def global_average_pool(_site: Site, x: Operand) -> Expression:
    return f"{x}.mean(dim={_spatial(x)}, keepdim=True)"


@rule("GlobalMaxPool")
def global_max_pool(_site: Site, x: Operand) -> Expression:
    return f"{x}.amax(dim={_spatial(x)}, keepdim=True)"


@rule("GlobalLpPool")
def global_lp_pool(_site: Site, x: Operand, *, p: int) -> Expression:
    return f"torch.linalg.vector_norm({x}, {p}, dim={_spatial(x)}, keepdim=True)"


def _spatial(x: Operand) -> str:
    return tupled(range(2, x.rank)) if x.rank is not None else f"tuple(range(2, {x}.ndim))"
