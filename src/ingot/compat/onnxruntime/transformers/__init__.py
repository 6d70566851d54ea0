"""What packages import of onnxruntime's transformer tools, for where onnxruntime is not installed."""
