"""ONNX's own textual syntax: what `onnx.printer` writes and `onnx.parser` reads.

    text = to_text(model, elide=None, strict=True)
    model = parse_model(text)

`lost` says what the syntax has no words for, `refused_by_onnx` what ingot reads but onnx's own parser does not.
"""

from ingot.ir.text.foreign import refused_by_onnx
from ingot.ir.text.lost import lost
from ingot.ir.text.parser import parse, parse_function, parse_graph, parse_model, parse_node
from ingot.ir.text.printer import to_text

__all__ = [
    "lost",
    "parse",
    "parse_function",
    "parse_graph",
    "parse_model",
    "parse_node",
    "refused_by_onnx",
    "to_text",
]
