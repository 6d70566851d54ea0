"""Strings: joined, compared with patterns, split, turned into numbers and back."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import rank
from ingot.convert.tensorflow.operands import known, size_of, sizes_of
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.joining import concatenated
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_NOTHING = np.array("", object)
_MOST_LETTERS = 64
"""Letters of a class that are replaced one after another."""


@rule("StringJoin")
def string_join(site: Site, *parts: Var, separator: str = "") -> Var:
    return concatenated(parts, separator)


@rule("StringLower", "StringUpper")
def string_case(site: Site, x: Var, *, encoding: str = "") -> Var:
    """ONNX folds the case of vectors alone; without an encoding TensorFlow folds only ASCII."""
    folded = "LOWER" if site.op.type == "StringLower" else "UPPER"
    flat = op.StringNormalizer(op.Reshape(x, np.array([-1])), case_change_action=folded, is_case_sensitive=1)
    return op.Reshape(flat, sizes_of(x), allowzero=1)


@rule("StaticRegexFullMatch")
def static_regex_full_match(site: Site, x: Var, *, pattern: str) -> Var:
    return op.RegexFullMatch(x, pattern=pattern)


@rule("RegexFullMatch")
def regex_full_match(site: Site, x: Var, pattern: Var) -> Var:
    return op.RegexFullMatch(x, pattern=str(known(pattern, "the pattern").item()))


@rule("StaticRegexReplace")
def static_regex_replace(site: Site, x: Var, *, pattern: str, rewrite: str, replace_global: bool = True) -> Var:
    return _replaced(x, pattern, rewrite, replace_global)


@rule("RegexReplace")
def regex_replace(site: Site, x: Var, pattern: Var, rewrite: Var, *, replace_global: bool = True) -> Var:
    return _replaced(
        x, str(known(pattern, "the pattern").item()), str(known(rewrite, "the text").item()), replace_global
    )


@rule("StringSplitV2")
def string_split(site: Site, x: Var, separator: Var, *, maxsplit: int = -1) -> tuple[Any, ...]:
    """The parts as a sparse matrix: where each is, the parts, and the sizes of the matrix."""
    text = str(known(separator, "the separator").item())
    pieces, counts = op.StringSplit(x, delimiter=text or None, maxsplit=maxsplit if maxsplit > 0 else None, outputs=2)
    columns = op.Range(np.array(0, np.int64), op.Squeeze(_size(pieces, 1), [0]), np.array(1, np.int64))
    there = op.Less(op.Unsqueeze(columns, [0]), op.Unsqueeze(counts, [1]))
    places = op.Transpose(op.NonZero(there), perm=[1, 0])
    return places, op.GatherND(pieces, places), op.Shape(there)


@rule("StringToNumber")
def string_to_number(site: Site, x: Var) -> Var:
    return op.Cast(x, to=int(site.dtype))


@rule("AsString")
def as_string(
    site: Site, x: Var, *, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1
) -> Var:
    if x.dtype is DType.BOOL:
        return op.Where(x, np.array("true", object), np.array("false", object))
    if x.dtype is DType.STRING:
        return x
    if x.dtype is None or x.dtype.is_float or width > 0:
        raise UnsupportedError("numbers with fractions as text, which engines write differently")
    return op.Cast(x, to=int(DType.STRING))


@rule("ReduceJoin")
def reduce_join(site: Site, x: Var, axes: Var, *, keep_dims: bool = False, separator: str = "") -> Var:
    """All texts along an axis joined, one after another."""
    along = known(axes, "the axis").ravel().tolist()
    if len(along) != 1:
        raise UnsupportedError("texts joined along several axes")
    axis = int(along[0]) % rank(x)
    size = op.Squeeze(size_of(x, axis), [0])
    lead = op.Gather(x, np.array(0), axis=axis)
    between = np.array(separator, object)

    def step(turn: Var, text: Var) -> Var:
        item = op.Gather(x, op.Add(turn, np.array(1, np.int64)), axis=axis)
        return op.StringConcat(op.StringConcat(text, between) if separator else text, item)

    joined: Var = op.Loop(op.Sub(size, np.array(1, np.int64)), None, lead, body=step)
    return op.Unsqueeze(joined, [axis]) if keep_dims else joined


def _replaced(x: Var, pattern: str, rewrite: str, every: bool) -> Var:
    """Every place of one of some letters, or of one text, replaced; ONNX has no replacing by patterns."""
    texts = _texts(pattern)
    if texts is None or "\\" in rewrite or not every:
        raise UnsupportedError(f"replacing by the pattern '{pattern}', for which ONNX has no operator")
    if any(text in rewrite for text in texts) and len(texts) > 1:
        raise UnsupportedError(f"replacing by the pattern '{pattern}' with a text that it matches itself")
    flat = op.Reshape(x, np.array([-1]))
    for text in texts:
        flat = _without(flat, text, rewrite)
    return op.Reshape(flat, sizes_of(x), allowzero=1)


def _without(x: Var, text: str, instead: str) -> Var:
    """A vector of texts in which one text is replaced: split by it, and joined again."""
    pieces, counts = op.StringSplit(x, delimiter=text, outputs=2)
    parts = op.Squeeze(_size(pieces, 1), [0])
    lead = op.Squeeze(op.Slice(op.Pad(pieces, np.array([0, 0, 0, 1]), _NOTHING), [0], [1], [1]), [1])

    def step(turn: Var, text: Var) -> Var:
        at = op.Add(turn, np.array(1, np.int64))
        if instead:
            text = op.StringConcat(text, op.Where(op.Less(at, counts), np.array(instead, object), _NOTHING))
        return op.StringConcat(text, op.Gather(pieces, at, axis=1))

    joined: Var = op.Loop(op.Sub(parts, np.array(1, np.int64)), None, lead, body=step)
    return joined


def _texts(pattern: str) -> list[str] | None:
    """The texts a pattern stands for: one, or each letter of a class; None for any other pattern."""
    if pattern.startswith("[") and pattern.endswith("]") and not pattern.startswith("[^"):
        letters = re.findall(r"\\?.", pattern[1:-1], re.DOTALL)
        if any(letter in ("[", "]", "\\") or re.fullmatch(r"\\\w", letter) for letter in letters):
            return None
        texts: list[str] = []
        for at, letter in enumerate(letters):
            if letter == "-" and 0 < at < len(letters) - 1:
                texts += [chr(code) for code in range(ord(texts[-1]), ord(letters[at + 1][-1]))]
            else:
                texts.append(letter[-1])
        return list(dict.fromkeys(texts)) if len(texts) <= _MOST_LETTERS else None
    plain = re.sub(r"\\(\W)", r"\1", pattern)
    return [plain] if plain and _literal(pattern) else None


def _literal(pattern: str) -> bool:
    """Whether a pattern has no special letters but escaped ones."""
    bare = re.sub(r"\\\W", "", pattern)
    return not re.search(r"[\\^$.|?*+()\[\]{}]", bare)


def _size(x: Var, axis: int) -> Var:
    """The size of an axis as a vector of one."""
    return op.Shape(x, start=axis, end=axis + 1)
