"""Kernels as LLVM IR, and that IR as machine code."""
