"""A NonMaxSuppression behind a detector, and what reads its answer: sizes that depend on what flows."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper


def suppress(model: onnx.ModelProto) -> None:
    """Put it behind `boxes` and `scores`: the outputs become the boxes, scores and classes left, and their number."""
    graph = model.graph
    graph.initializer.extend(
        [
            helper.make_tensor("most_boxes", TensorProto.INT64, [], [10]),
            helper.make_tensor("overlap", TensorProto.FLOAT, [], [0.5]),
            helper.make_tensor("least_score", TensorProto.FLOAT, [], [0.1]),
            helper.make_tensor("image_and_box", TensorProto.INT64, [2], [0, 2]),
            helper.make_tensor("class_column", TensorProto.INT64, [], [1]),
        ]
    )
    given = ["boxes", "scores", "most_boxes", "overlap", "least_score"]
    graph.node.extend(
        [
            helper.make_node("NonMaxSuppression", given, ["selected"], name="suppress"),
            helper.make_node("Gather", ["selected", "image_and_box"], ["rows"], name="rows", axis=1),
            helper.make_node("GatherND", ["boxes", "rows"], ["selected_boxes"], name="boxes_of_rows"),
            helper.make_node("GatherND", ["scores", "selected"], ["selected_scores"], name="scores_of_rows"),
            helper.make_node("Gather", ["selected", "class_column"], ["selected_classes"], name="classes", axis=1),
            helper.make_node("Shape", ["selected_scores"], ["selected_count"], name="count"),
        ]
    )
    del graph.output[:]
    types = {
        "selected_boxes": TensorProto.FLOAT,
        "selected_scores": TensorProto.FLOAT,
        "selected_classes": TensorProto.INT64,
        "selected_count": TensorProto.INT64,
    }
    graph.output.extend(helper.make_tensor_value_info(name, kind, None) for name, kind in types.items())
