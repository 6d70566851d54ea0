"""Windows that slide over an image, staged: what those of a block of rows read is copied to scratch memory first.

Most of what a large window reads was read for its neighbours too. In a copy the places beside the image hold what
windows read there, so that no vector needs a mask; where windows move by more than one column, columns that the lanes
of a vector read lie side by side; rows have one distance in all kernels, so that places are found from one address; and
an image comes from memory in line, not in as many rows at once as windows reach over.
"""

from __future__ import annotations

from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import (
    LANES_APART,
    Apply,
    Buffer,
    For,
    Index,
    Inside,
    Kind,
    Literal,
    Load,
    Nest,
    Position,
    Stage,
    Staged,
    Statement,
    Store,
    Update,
    Var,
)
from ingot.loops.rewrite import parts, stores, values, with_index
from ingot.loops.walk import Node, transform
from ingot.schedule.jam import COMMUTATIVE, is_light
from ingot.schedule.scratch import THREADS
from ingot.schedule.target import Target
from ingot.schedule.work import MOST_JAMMED

_LEAST_WINDOW = 20
"""Places of a window from which on a copy pays: each of its elements is read about so often."""

_NARROW = 2
"""How many times as long as a row of results vectors are where windows that can be unrolled whole are not copied."""

_FEWEST = 4
"""Rows of a block that are worth a copy of what they share."""

_MOST_DILATION = 8
"""How far apart the columns of a window are, at most: a copy has all between them."""

_LINES = (272, 1040, 4112)
"""Elements from one copied row to the next: few lengths for all images, and none that is a multiple of a page."""


@dataclass(frozen=True, slots=True)
class _Window:
    """How windows slide: `rows` by `columns` places, by `row_step` rows and `step` columns.

    `before` are columns of padding, and `width` those of the image, None if it is not asked for whether a column is
    inside of it. `beside` are the conditions on rows, and on axes that windows do not slide along.
    """

    load: Load
    rows: Var
    columns: Var
    height: int
    length: int
    row_step: int
    step: int
    dilation: int
    before: int
    width: int | None
    beside: tuple[Inside, ...]


@dataclass(frozen=True, slots=True)
class _Block:
    """Blocks of `count` values of `row`: that of step `steps`, None if there is one alone, begins at `start`."""

    row: Var
    count: int
    steps: Var | None
    start: Index


@dataclass(frozen=True, slots=True)
class _Copy:
    """The copy of what the windows of a block read: `rows` by `columns` elements.

    Those of every `step` columns that have one remainder lie side by side, in a line of their own.
    """

    window: _Window
    block: _Block
    across: Var
    rows: int
    columns: int
    line: int
    scratch: Buffer

    @property
    def margin(self) -> int:
        """The elements of a line before those of the image."""
        return -(-self.window.before // self.window.step)


def staged_windows(nest: Nest, across: Var, name: str, target: Target) -> Staged | None:
    """The reduction of windows in vectors along `across`, with what they read staged; None for any other nest."""
    reducing = [stage for stage in nest.stages if stage.inner]
    outer = [row for row in nest.rows if row is not across]
    if len(reducing) != 1 or not outer or not is_light(nest) or not isinstance(across.extent, int):
        return None
    row = outer.pop()
    window = _window(reducing[0], row, across)
    if window is None:
        return None
    most = (target.registers // 2 - 1) // len(reducing[0].starts)
    block = _block(row, min(most, MOST_JAMMED // window.height), may_overlap=not _meets(nest))
    lanes = target.lanes(window.load.dtype.numpy.itemsize)
    if block is None or (
        across.extent * _NARROW <= lanes and block.count * window.height * window.length <= MOST_JAMMED
    ):
        return None
    rows = (block.count - 1) * window.row_step + window.height
    columns = (across.extent - 1) * window.step + (window.length - 1) * window.dilation + 1
    line = next((length for length in _LINES if length > -(-columns // window.step)), None)
    if line is None:
        return None
    length = rows * window.step * line
    scratch = Buffer(f"{name}_windows", window.load.dtype, THREADS * length)
    copy = _Copy(window, block, across, rows, columns, line, scratch)
    steps = () if block.steps is None else (block.steps,)
    body = (For(across, _reduced(nest, copy), Kind.VECTOR),)
    return Staged((*outer, *steps), _filled(copy), _copied(copy), body, (scratch,), length)


def _window(stage: Stage, row: Var, across: Var) -> _Window | None:
    """How the windows of a stage slide along rows and, in vectors, along columns; None if they do not."""
    sums = all(isinstance(part, Update) and part.function in COMMUTATIVE for part in stage.body)
    reads = {
        (part.buffer, part.index): part
        for part in parts(list(values(stage.body)))
        if isinstance(part, Load) and part.index.factor(across) != 0
    }
    if len(stage.inner) != 2 or not sums or len(reads) != 1:
        return None
    (load,) = reads.values()
    indices = (load.index, *(inside.index for inside in load.where))
    if any(not isinstance(term, Var) for index in indices for term, _ in index.terms):
        return None
    first, second = stage.inner
    return _sliding(load, row, across, first, second) or _sliding(load, row, across, second, first)


def _sliding(load: Load, row: Var, across: Var, rows: Var, columns: Var) -> _Window | None:
    """How windows of `rows` and `columns` slide; None if they do not, or by more than they are long.

    All between the first row and column and the last ones is then read by one of them.
    """
    unit, row_unit, step, dilation = map(load.index.factor, (rows, row, across, columns))
    height, length = rows.extent, columns.extent
    if not isinstance(height, int) or not isinstance(length, int) or height * length < _LEAST_WINDOW:
        return None
    if not all(isinstance(by, int) and by > 0 for by in (unit, row_unit, step, dilation)):
        return None
    assert isinstance(unit, int)
    assert isinstance(row_unit, int)
    assert isinstance(step, int)
    assert isinstance(dilation, int)
    row_step, rest = divmod(row_unit, unit)
    if rest != 0 or not 1 <= row_step <= height or step > min(LANES_APART, length):
        return None
    if dilation > (_MOST_DILATION if step == 1 else 1):
        return None
    before = 0
    width: int | None = None
    beside: list[Inside] = []
    for inside in load.where:
        down = tuple(inside.index.factor(var) for var in (row, rows))
        along = tuple(inside.index.factor(var) for var in (across, columns))
        if along == (0, 0) and down in ((0, 0), (row_step, 1)):
            beside.append(inside)
            continue
        is_plain = width is None and along == (step, dilation) and len(inside.index.terms) == 2
        if not is_plain or not isinstance(inside.index.offset, int) or not isinstance(inside.size, int):
            return None
        before, width = -inside.index.offset, inside.size
    if before < 0:
        return None
    return _Window(load, rows, columns, height, length, row_step, step, dilation, before, width, tuple(beside))


def _meets(nest: Nest) -> bool:
    """Whether elements are read where results are stored, in whose memory these may lie."""
    body = [statement for stage in nest.stages for statement in stage.body]
    places = {(frozenset(store.index.terms), store.index.offset) for store in stores(body)}
    loads = [part for part in parts(list(values(body))) if isinstance(part, Load)]
    return any((frozenset(load.index.terms), load.index.offset) in places for load in loads)


def _block(row: Var, most: int, *, may_overlap: bool) -> _Block | None:
    """Rows in blocks of about one size, at most so many; where they do not divide, the last two blocks overlap.

    Rows of both are stored twice. If they may not, a block has at least a few rows, or there are none.
    """
    if not isinstance(row.extent, int) or row.extent < 1 or most < 1:
        return None
    blocks = -(-row.extent // most)
    if not may_overlap:
        blocks = next((number for number in range(blocks, row.extent // _FEWEST + 1) if row.extent % number == 0), 0)
    if blocks == 0:
        return None
    count = -(-row.extent // blocks)
    if blocks == 1:
        return _Block(row, count, None, Index())
    steps = Var(f"{row.name}s", blocks)
    start = Index(((steps, count),))
    if blocks * count > row.extent:
        last = Literal(DType.INT64, row.extent - count)
        start = Index(((Apply(DType.INT64, "minimum", (Position(start), last)), 1),))
    return _Block(row, count, steps, start)


def _filled(copy: _Copy) -> tuple[Statement, ...]:
    """Statements that fill what windows read beside an image, where they do."""
    window, scratch = copy.window, copy.scratch
    if window.width is None or (window.before == 0 and copy.columns <= window.width):
        return ()
    row, column = Var("f", copy.rows * window.step), Var("g", -(-copy.columns // window.step) + 1)
    place = Index(((row, copy.line), (column, 1)))
    return (For(row, (For(column, (Store(scratch, place, Literal(scratch.dtype, window.load.fill)),), Kind.VECTOR),)),)


def _copied(copy: _Copy) -> tuple[Statement, ...]:
    """Statements that copy the rows of an image that the windows of a block read."""
    window, block, step = copy.window, copy.block, copy.window.step
    load = window.load
    sliding = (block.row, window.rows, window.columns, copy.across)
    row = Var("u", copy.rows)
    down = Index(((row, step * copy.line),))
    width = copy.columns if window.width is None else min(copy.columns - window.before, window.width)

    def stored(column: Var, first: int, rest: int) -> Store:
        """The copy of a column of the image, counted from the first one in steps, and of a remainder."""

        def read(index: Index) -> Index:
            fixed = Index(tuple(item for item in index.terms if item[0] not in sliding), index.offset)
            begin = block.start.times(index.factor(block.row)) + Index(((row, index.factor(window.rows)),))
            along = Index(((column, step),), first * step + rest + window.before)
            return fixed + begin + along.times(index.factor(copy.across) // step)

        where = tuple(replace(inside, index=read(inside.index)) for inside in window.beside)
        value = Load(load.dtype, load.buffer, read(load.index), where, load.fill)
        return Store(copy.scratch, down + Index(((column, 1),), rest * copy.line + copy.margin + first), value)

    whole, more = divmod(width, step)
    column, last = Var("v", whole), Var("w", 1)
    loops = [For(column, tuple(stored(column, 0, rest) for rest in range(step)), Kind.VECTOR)] if whole else []
    if more:
        loops.append(For(last, tuple(stored(last, whole, rest) for rest in range(more))))
    return (For(row, tuple(loops)),)


def _reduced(nest: Nest, copy: _Copy) -> tuple[Statement, ...]:
    """The statements of a nest for a vector of the rows of a block, with windows that read a copy."""
    place = Var(f"{copy.block.row.name}t", copy.block.count)
    body: list[Statement] = []
    for stage in nest.stages:
        body += stage.starts
        if stage.inner:
            body += [_windows(stage, copy, rest, place) for rest in range(copy.window.step)]
        else:
            body += stage.body
    return (For(place, with_index(tuple(body), copy.block.row, copy.block.start + Index(((place, 1),))), Kind.JAM),)


def _windows(stage: Stage, copy: _Copy, rest: int, place: Var) -> Statement:
    """The loops of a stage over the columns of a window with one remainder, and in these over its rows.

    Rows come by remainder too: what one of them reads at a place, the next reads at the place before.
    """
    window, step = copy.window, copy.window.step
    column = Var(window.columns.name, -(-(window.length - rest) // step))
    first, of_image = divmod(rest - window.before, step)
    loops = []
    for rest_down in range(window.row_step):
        row = Var(window.rows.name, -(-(window.height - rest_down) // window.row_step))
        down = Index(((place, window.row_step), (row, window.row_step)), rest_down).times(step * copy.line)
        along = Index(((copy.across, 1), (column, window.dilation)), of_image * copy.line + copy.margin + first)
        load = Load(window.load.dtype, copy.scratch, down + along)

        def staged(node: Node, load: Load = load) -> Node:
            is_read = isinstance(node, Load) and (node.buffer, node.index) == (window.load.buffer, window.load.index)
            return load if is_read else node

        body = tuple(transform(statement, staged) for statement in stage.body)
        body = with_index(body, window.rows, Index(((row, window.row_step),), rest_down))
        loops.append(For(row, with_index(body, window.columns, Index(((column, step),), rest))))
    return For(column, tuple(loops))
