"""RegexFullMatch: whether each text is described by a regular expression, in RE2's syntax.

Python's `re` takes time exponential in the text for some patterns; a model is untrusted, so they are matched by states.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.text.distinct import of_each
from ingot.ops.text.re2_match import Pattern
from ingot.ops.typesets import BOOL, STRING, types

T1: TypeAlias = Annotated[Array, types("T1", STRING)]
T2: TypeAlias = Annotated[Array, types("T2", BOOL)]


@operator("RegexFullMatch", since=20)
def regex_full_match(x: T1, /, *, pattern: str | None = None) -> T2:
    """Whether all of each text matches `pattern`. Time is proportional to the text, whatever the pattern."""
    return of_each(_compiled(_text_of(pattern)).matches, x, np.bool_)


@regex_full_match.infer
def infer(x: Fact, /, *, pattern: str | None) -> Inferred:
    _compiled(_text_of(pattern))
    return TensorType(DType.BOOL, x.shape)


def _text_of(pattern: object) -> str:
    if not isinstance(pattern, str):
        raise CheckError("RegexFullMatch needs a pattern" if pattern is None else "the pattern is not valid UTF-8")
    return pattern


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> Pattern:
    return Pattern(pattern)
