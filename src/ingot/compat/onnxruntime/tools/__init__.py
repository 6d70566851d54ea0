"""What programs import of onnxruntime's tools, for where onnxruntime is not installed."""
