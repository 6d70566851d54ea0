"""Kernels to code: LLVM IR for CPUs, Triton for GPUs."""
