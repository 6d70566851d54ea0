"""Kernels to code: LLVM IR, and with it machine code for processors and WebAssembly."""
