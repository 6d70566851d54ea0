"""Tables: what they hold, read from the resources that a function captured."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ingot.convert.tensorflow.dtypes import to_array
from ingot.convert.tensorflow.functions import operations
from ingot.convert.tensorflow.program import Program
from ingot.convert.tensorflow.resource import Resource
from ingot.dtypes import Array
from ingot.errors import UnsupportedError

_WORDS = ("", "a", "the", "model", "of", "a longer text", "Another One, here.", "7", "0")


def entries(table: Resource, keys: Any, values: Any) -> tuple[Array, Array]:
    """The keys of a table and what it has for them; UnsupportedError where it cannot be read."""
    try:
        held = tf.raw_ops.LookupTableExportV2(table_handle=table.handle, Tkeys=keys, Tvalues=values)
    except Exception as error:
        raise UnsupportedError(f"the table cannot be read: {str(error).splitlines()[0]}") from error
    return to_array(held[0]), to_array(held[1])


def entry_count(table: Resource) -> Array:
    """How many entries a table has, as a scalar."""
    return to_array(tf.raw_ops.LookupTableSizeV2(table_handle=table.handle))


def words_of(program: Program) -> list[str]:
    """Texts to try a function on: keys of its tables, and others that they are not likely to have."""
    words = list(_WORDS)
    kinds = {
        (op.get_attr("Tin"), op.get_attr("Tout"))
        for _, op in operations(program.graph)
        if op.type == "LookupTableFindV2"
    }
    for held in program.function.captured_inputs:
        for keys, values in kinds:
            if held.dtype != tf.resource or keys != tf.string:
                continue
            try:
                words += [str(key) for key in entries(Resource("", held), keys, values)[0][:20]]
            except UnsupportedError:
                continue  # a variable, or a table of other types
    return words
