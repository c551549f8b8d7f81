"""The commands that a person types."""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. Exit codes: 0 ok, 1 failure, 2 usage; 143 when ended by SIGTERM before anything began."""
    # First of all: as process 1 of a container there is no default action for SIGTERM, and the imports take a while.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    from ._app import run_app  # noqa: PLC0415 - see above

    run_app()
