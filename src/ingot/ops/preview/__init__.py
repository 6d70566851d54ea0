"""The operators of ai.onnx.preview."""
