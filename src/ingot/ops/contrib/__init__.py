"""The operators of com.microsoft, as onnxruntime defines them."""
