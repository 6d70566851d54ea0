"""The loop IR: kernels as loop nests, plain data, with a printer, rewrites, and parameters in the place of sizes."""
