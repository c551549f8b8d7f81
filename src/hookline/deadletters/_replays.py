"""The groups of replays, told by their names."""

from __future__ import annotations

import re
from typing import Final

_REPLAY: Final = re.compile(r".+\.replay-[0-9a-f]{12}", re.DOTALL)


def replay_group(group: str, digest: str) -> str:
    """Name the group of a replay for the hook of a group; `digest` names the request, in twelve hexadecimal digits."""
    return f"{group}.replay-{digest}"


def is_replay_group(group: str) -> bool:
    """Tell whether a group is a replay's."""
    return _REPLAY.fullmatch(group) is not None
