"""The command `weir`: `python -m weir` and the script of the package."""

import signal
import sys

from ._native import main as _main


def main() -> None:
    """Runs the command with the arguments of this process, and ends it with the command's exit code."""
    # As in the standalone program: an interruption ends it at once, unless it handles interruptions itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_main(["weir", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
