"""Code generation: kernels of the loop IR as LLVM IR and machine code, and the memory layouts native code relies on."""
