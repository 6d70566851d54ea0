"""How work is divided among threads, and how far loops are unrolled: what pays on the machines that were measured.

A grain is the least work that is worth a thread of its own, some microseconds.
"""

from __future__ import annotations

LOOP_GRAIN = 1 << 17
"""Work that is worth a thread of its own, some microseconds: iterations times operations of each."""

CONTRACTION_GRAIN = 1 << 18
"""Multiply-adds that are worth a thread of their own: some microseconds."""

MATRIX_SPEED = 8
"""How many times as many products instructions on matrices add as others do in the same time."""

PIECES_PER_THREAD = 4
"""Pieces for each thread, where there is little work: a late thread's pieces are done by others."""

LARGEST_PIECE = 8
"""The largest piece, in multiples of the least work that is worth a thread: bounds the wait at the end, or to stop."""

STACKS_PER_THREAD = 2
"""Stacks for each thread from which on none is divided: every part would pack its keys and values again."""

BLOCKS_PER_THREAD = 2
"""Blocks for each thread from which on none is divided: every part would transform its inputs again."""

FEWEST_ROWS = 4
"""Rows of a recurrence that are worth a thread: each reads all weights."""

RECURRENT_PIECES = 2
"""Pieces of a recurrence for each thread: they are as long as all its iterations, and each reads all weights."""

MOST_RECURRENT = 1 << 16
"""Multiply-adds for a row of an iteration up to which it is part of a recurrence, and not worth sharing: a cell of 128
units."""

LEAST_TILES = 8
"""Tiles in a panel of columns that are worth packing it again for another thread."""

UNPACKED_TILES = 64
"""Tiles of rows that a part of a panel in codes is unpacked for at a time: their sums are held in memory meanwhile."""

ROWS_HIDING_A_READ = 8
"""Rows that a row of the right side could be multiplied by in the time it takes to be read."""

TRANSPORT = 4
"""Operations that take as long as loading and storing an element."""

MOST_UNROLLED = 32
"""Times that the body of a short loop inside a vector is unrolled."""

MOST_JAMMED = 352
"""The same where rows are jammed: 49 for a window of 7 x 7, each for 7 rows."""

HEAVY_FOR_UNROLLING = 24
"""Operations in the body of a reduction from which on it is not unrolled four times."""

MOST_FOLDED = 1 << 22
"""Bytes of a folded tensor, whatever the caches: twice as many made a step of a decoder a third slower."""

FEW_ROWS = 8
"""Rows of a reduction up to which threads share each of them."""

MOST_INLINED = 96
"""Primitives in one expression: with more, compiling it takes longer than storing a tensor in it costs."""
