"""The operators of ai.onnx.ml: features, encoders, and classical models."""
