"""The operators of ai.onnx.preview.training: one step of an optimiser."""
