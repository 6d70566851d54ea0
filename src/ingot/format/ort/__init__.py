"""Models in onnxruntime's own format, `.ort`: a flatbuffer of tables whose names and slots `schema` lists."""
