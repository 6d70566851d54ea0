"""The command line: one file a command, read and written through `models`, shown through `show`."""
