"""Run a broker for as long as standard input is open: `_guard.py DATA_FOLDER COMMAND ...`.

Whoever starts the guard holds the other end, so its death, of whatever cause, ends the broker and removes its data.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading


def main(data: str, *command: str) -> int:
    """Start the command, wait for its end or the end of input, and leave nothing."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    broker = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_kill_at_end_of_input, args=(broker,), daemon=True).start()
    try:
        return broker.wait()
    finally:
        broker.kill()
        broker.wait()
        shutil.rmtree(data, ignore_errors=True)


def _kill_at_end_of_input(broker: subprocess.Popen[bytes]) -> None:
    while os.read(sys.stdin.fileno(), 1):  # not sys.stdin.read(): its lock, held to the end, aborts the exit
        pass
    broker.kill()  # its data is thrown away: no need of an orderly shutdown


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
