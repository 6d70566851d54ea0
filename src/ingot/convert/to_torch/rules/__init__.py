"""One rule for each operator of ONNX that torch has, in files by family."""
