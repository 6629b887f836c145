"""`python -m seriatim.cli`, for a checkout in which the command is not installed."""

from seriatim.cli.entry import main

if __name__ == "__main__":
    main()
