"""onnxruntime's own Python tests and test models, on onnxruntime and on `ingot.compat`."""
