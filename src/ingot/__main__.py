"""`python -m ingot`: the command line."""

from ingot.cli.start import main

if __name__ == "__main__":
    main()
