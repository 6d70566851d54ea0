"""The modules that programs take onnxruntime's exceptions and inner classes from."""
