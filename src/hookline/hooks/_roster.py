"""Which hooks a group runs, as its commits say it, so that whoever takes over knows what their offsets mean.

roster = version hash*        4 bytes of each hook's name; none at all when there are too many hooks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._memory import HASH_BYTES, hash_of

if TYPE_CHECKING:
    from collections.abc import Collection

_VERSION: Final = 1
_MOST_HOOKS: Final = 128
"""More would leave too little room for what else a commit says."""


def write_roster(names: Collection[str]) -> bytes:
    """Write down who is run; nothing when that are too many to say."""
    if len(names) > _MOST_HOOKS:
        return b""
    return bytes((_VERSION,)) + b"".join(sorted(map(hash_of, names)))


def read_roster(note: bytes) -> frozenset[bytes] | None:
    """Read the hashes of who is run; None when it does not say."""
    hashes = note[1:]
    if not note or note[0] != _VERSION or len(hashes) % HASH_BYTES:
        return None
    return frozenset(hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))
