"""The inputs of a run on the page: random, from files or from text, and changed by a slider."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.feeds.files import read_feed
from ingot.feeds.sizes import bind_sizes_of, size_names
from ingot.ir.model import Model
from ingot.tools.bench.inputs import inputs

if TYPE_CHECKING:
    from ingot.feeds.tokeniser.tokeniser import Tokeniser

_LONGEST_SUFFIX = 16
"""Letters of what tells the kind of a file that is uploaded."""

ChangeKind = Literal["scale", "noise", "element"]


@dataclass(frozen=True, slots=True)
class Change:
    """What a slider does to an input: all elements times `amount`, noise of that deviation, or one element set so."""

    kind: ChangeKind
    amount: float
    at: int = 0


@dataclass(slots=True, eq=False)
class Inputs:
    """What a run of a model is given, by the names of its inputs; what is not there is random."""

    model: Model
    arrays: dict[str, Any] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    """What each input is, for people; inputs that are random have none."""

    tokeniser: Tokeniser | None = None

    def fitting(self, model: Model) -> Inputs:
        """What of these another version of the model takes: those of inputs that it has, with the same types."""
        types = {value.name: value.type for value in self.model.inputs}
        same = {value.name: index for index, value in enumerate(model.inputs) if types.get(value.name) == value.type}
        notes = {
            same[value.name]: self.notes[index]
            for index, value in enumerate(self.model.inputs)
            if index in self.notes and value.name in same
        }
        return Inputs(model, {name: each for name, each in self.arrays.items() if name in same}, notes, self.tokeniser)

    def upload(self, index: int, name: str, content: bytes, rate: int | None = None) -> str:
        """Use a file, named as it was, for an input from now on; an empty one is forgotten. Returns what it is now.

        A sound is resampled to `rate`, if that is given. InputError if the file is of no known kind or does not fit the
        input.
        """
        value = self.model.inputs[index]
        if not content:
            self.arrays.pop(value.name, None)
            self.notes.pop(index, None)
            return "random"
        with tempfile.TemporaryDirectory() as folder:
            kind = re.sub(r"\W", "", (Path(name).suffix or name).rpartition("/")[2])[:_LONGEST_SUFFIX]
            path = Path(folder, f"file.{kind}")
            path.write_bytes(content)
            try:
                array = read_feed(value, path, rate)
            except InputError as error:
                error.message = error.message.replace(str(path), name)
                raise
        self._use(index, array, Path(name).name)
        return self.notes[index]

    def speak(self, text: str) -> dict[int, str]:
        """Use a text for the inputs that token numbers go to; returns what these are. InputError as `token_feeds`."""
        from ingot.feeds.tokeniser.feeds import token_feeds  # rarely needed

        if self.tokeniser is None:
            raise InputError("text needs a tokeniser", hint="choose the tokenizer.json of the model")
        encoded = self.tokeniser.encode(text)
        places = {value.name: index for index, value in enumerate(self.model.inputs)}
        arrays = token_feeds(self.model.inputs, encoded)
        for name, array in arrays.items():
            self._use(places[name], array, f"{len(encoded.ids)} tokens")
        return {places[name]: self.notes[places[name]] for name in arrays}

    def feeds(
        self, seed: int, shapes: dict[str, str], changes: Mapping[int, Change] | None = None
    ) -> tuple[dict[str, Any], list[str]]:
        """An array for each input, and the names of sizes that nobody gives, which are 1.

        Sizes come from `shapes`, by input or by name, and from the arrays. InputError where something does not fit.
        """
        twin = self.model.copy()
        known = {value.name: value for value in twin.graph.inputs}
        sizes = {known[name]: array.shape for name, array in self.arrays.items() if isinstance(array, np.ndarray)}
        bind_sizes_of(twin, sizes)
        open_names = {*known, *size_names(twin.graph.inputs)}  # arrays have their own sizes, whatever was set before
        feeds, open_sizes = inputs(twin, {name: text for name, text in shapes.items() if name in open_names}, {}, seed)
        feeds.update(self.arrays)
        for index, change in (changes or {}).items():
            name = self.model.inputs[index].name
            if isinstance(feeds.get(name), np.ndarray):
                feeds[name] = changed(feeds[name], change)
        return feeds, open_sizes

    def _use(self, index: int, array: Any, name: str) -> None:
        self.arrays[self.model.inputs[index].name] = array
        shown = type(array).__name__
        if isinstance(array, np.ndarray):
            shown = f"{array.dtype}{list(array.shape)}" + (f" = {array.item()}" if array.size == 1 else "")
        self.notes[index] = f"{name}: {shown}"


def changed(array: Array, change: Change) -> Array:
    """An array as a slider has changed it, of the same type and shape."""
    if array.dtype.kind in "OUS" or not array.size:
        return array
    if change.kind == "element":
        result = array.copy()
        result.reshape(-1)[change.at % array.size] = _as(array, np.asarray(change.amount))
        return result
    wide = array.astype(np.float64)
    if change.kind == "scale":
        return _as(array, wide * change.amount)
    finite = wide[np.isfinite(wide)]
    deviation = float(finite.std()) if finite.size else 0.0
    noise = np.random.default_rng(0).standard_normal(array.shape)
    return _as(array, wide + noise * (deviation or 1.0) * change.amount)


def _as(array: Array, wide: Any) -> Array:
    """Numbers in the element type of an array: rounded and kept in range where it is one of integers."""
    if array.dtype.kind == "b":
        return np.asarray(wide > 0.5)
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        most = float(limits.max)  # of 64 bits one more than there is
        most = most if int(most) == limits.max else float(np.nextafter(most, 0.0))
        wide = np.clip(np.rint(np.nan_to_num(wide)), float(limits.min), most)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(wide.astype(array.dtype))
