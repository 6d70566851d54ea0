"""The numbers that fusion decides by: those of a machine, which fusion is given and does not know."""

from __future__ import annotations

from collections.abc import Callable

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.prim.coded import Coded


@dataclass(frozen=True, slots=True)
class FusionLimits:
    """From which sizes on a decision pays; `schedule/fusion_limits.py` derives those of a target."""

    padded_row: int
    """Elements of a row from which on a padded row is checked once, as a whole."""
    columns: int
    """Columns of a product that fill a vector; 0 where no product packs its columns when it runs."""
    attention_rows: int | None
    """Rows of scores from which on packing keys and values pays; None where attention is no kernel of its own."""
    folded_bytes: int
    """Bytes of a tensor, no result, up to which it is folded when the model is compiled."""
    inlined: int
    """Primitives in one expression, at most."""
    few_rows: int
    """Rows of a reduction up to which threads share each row, instead of the rows; 0 without threads."""
    long_row: int
    """Elements of such a row from which on it is worth dividing."""
    refuses_codes: Callable[[Coded], str | None]
    """Why no product reads these weights in their codes; None if one does. Others are dequantised when compiled."""

    attention_width: int | None = None
    """Elements of the widest head for which attention is a kernel, which computes in float32 then, and whose keys and
    values are stored; None where it is one for heads of any width, and computes keys and values while it packs them."""

    def divides(self, rows: Dim, length: Dim) -> bool:
        """Whether rows are too few for threads to share them, and each is worth sharing, or may be."""
        few = isinstance(rows, int) and 0 < rows <= self.few_rows
        return few and (not isinstance(length, int) or length >= self.long_row)
