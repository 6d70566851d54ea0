"""Kernels for NVIDIA GPUs: loop nests as PTX, by LLVM's NVPTX back end."""
