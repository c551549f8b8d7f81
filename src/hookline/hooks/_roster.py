"""What the commits of a group say beside offsets, so that whoever takes over knows what these mean.

roster    = 1 hash*        which hooks the shared group runs: 4 bytes of each name; none at all when there are too many
beginning = 2 offset       where a hook's own group began, as its start said: what lies before it was never run
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hookline.consume import pack_numbers, read_number

from ._memory import HASH_BYTES, hash_of

if TYPE_CHECKING:
    from collections.abc import Collection

_ROSTER: Final = 1
_BEGINNING: Final = 2
_MOST_HOOKS: Final = 128
"""More would leave too little room for what else a commit says."""


def write_roster(names: Collection[str]) -> bytes:
    """Write down who is run; nothing when that are too many to say."""
    if len(names) > _MOST_HOOKS:
        return b""
    return bytes((_ROSTER,)) + b"".join(sorted(map(hash_of, names)))


def read_roster(note: bytes) -> frozenset[bytes] | None:
    """Read the hashes of who is run; None when it does not say."""
    hashes = note[1:]
    if not note or note[0] != _ROSTER or len(hashes) % HASH_BYTES:
        return None
    return frozenset(hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES))


def write_beginning(offset: int) -> bytes:
    """Write down where a group begins that has run nothing yet."""
    return bytes((_BEGINNING,)) + pack_numbers([offset])


def read_beginning(note: bytes) -> int:
    """Read where a group began; 0 when it does not say, as one does not that went on where another was."""
    if not note or note[0] != _BEGINNING:
        return 0
    try:
        return read_number(note, 1)[0]
    except ValueError:
        return 0
