"""The cache on disk: its directory, the content of files as names, and the fingerprint of what made an entry."""
