"""An engine without a thread for its consumer: somebody else gives the poller its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from hookline.consume import Engine
    from hookline.consume._poller import Poller


class NoThread:
    """Stands for the consumer's thread."""

    def shutdown(self, *, wait: bool) -> None:
        """Do nothing."""


def open_by_hand(engine: Engine) -> Poller:
    """Open an engine on the running loop; gives the poller, to be opened and turned by the caller.

    Once its `finish` was called the caller closes it, and calls `note_closed`.
    """
    loop = engine.open()
    driven = cast("Any", engine)
    driven._thread = NoThread()
    driven._polling = loop.create_future()
    poller: Poller = driven._poller
    return poller


def note_closed(engine: Engine) -> None:
    """Tell the engine that its poller is closed."""
    cast("Any", engine)._polling.set_result(None)
