"""The cache on disk: its directory, digests of file contents, and the fingerprint of the compiler."""
