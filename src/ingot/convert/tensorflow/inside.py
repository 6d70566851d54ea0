"""Values inside the original, by the names that they have in the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from ingot.convert.source import Feeds
from ingot.convert.tensorflow.dtypes import to_array
from ingot.convert.tensorflow.examples import fed
from ingot.convert.tensorflow.program import Program
from ingot.dtypes import Array
from ingot.passes.layout import CHANNELS_FIRST


def inside_of(
    program: Program, names: Sequence[str], sources: Mapping[str, str]
) -> Callable[[Feeds], dict[str, Array]]:
    """Runs the function with its calls inlined, and keeps the tensors that `sources` name."""

    def inside(feeds: Feeds) -> dict[str, Array]:
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

        logger = tf.get_logger()
        was, logger.disabled = logger.disabled, True  # it warns of collections that nobody asked for
        try:
            frozen = convert_variables_to_constants_v2(program.function, lower_control_flow=False)
        except Exception:  # what TensorFlow cannot freeze is compared only by its outputs
            return {}
        finally:
            logger.disabled = was
        graph = frozen.graph
        wanted = {}
        for name, source in sources.items():
            try:
                tensor = graph.get_tensor_by_name(source)
            except (KeyError, ValueError):
                continue
            if tensor.dtype not in (tf.variant, tf.resource):
                wanted[name] = tensor
        values = [*fed(program, names, feeds), *program.function.captured_inputs]
        by_input = {tensor.op.name: value for tensor, value in zip(program.function.inputs, values, strict=True)}
        tensors = frozen.prune(list(frozen.inputs), wanted)(*(by_input[tensor.op.name] for tensor in frozen.inputs))
        arrays = {name: to_array(tensor) for name, tensor in tensors.items()}
        turned = {
            f"{name}{CHANNELS_FIRST}": np.moveaxis(array, -1, 1) for name, array in arrays.items() if array.ndim > 2
        }
        return {**arrays, **turned}

    return inside
