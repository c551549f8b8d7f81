"""Groups of a broker that is not there, for whoever moves what they have committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from hookline.kafka import ErrorKind, GroupAdmin, GroupInUseError, GroupRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hookline.kafka import Moment, Position

PARTITIONS = (0, 1)
END = 1_000


class FakeGroups(GroupAdmin):
    """Keeps in memory what groups have committed, and who is in them.

    After so many steps (`crash_after`) the process that changes them goes down. Of metadata no more than
    `most_characters` are taken, and partitions whose metadata is longer stay as they were, as on a broker.
    """

    def __init__(self, committed: Mapping[str, Mapping[int, Position]] | None = None) -> None:
        self.groups = {group: dict(positions) for group, positions in (committed or {}).items()}
        self.members = set[str]()
        self.hidden = set[str]()
        """Which may not be seen."""
        self.crash_after: int | None = None
        self.most_characters = 4_095
        self.looks = 0
        self.meanwhile: tuple[int, Callable[[], None]] = (0, lambda: None)
        """Before which look somebody else does something."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stay as they are."""

    def committed(self, groups: Iterable[str], topic: str) -> dict[str, dict[int, Position]]:
        """Tell what was committed."""
        return {group: self._look(group, topic) for group in groups}

    def committed_if_seen(self, groups: Iterable[str], topic: str) -> dict[str, dict[int, Position]]:
        """Tell the same of those that may be seen."""
        return self.committed([group for group in groups if group not in self.hidden], topic)

    def _look(self, group: str, topic: str) -> dict[int, Position]:
        del topic
        self.looks += 1
        if self.looks == self.meanwhile[0]:
            self.meanwhile[1]()
        return dict(self.groups.get(group, {}))

    def has_members(self, group: str) -> bool:
        """Tell whether somebody is in it."""
        return group in self.members

    def commit(self, group: str, topic: str, positions: Mapping[int, Position]) -> None:
        """Commit."""
        del topic
        self._step(group)
        taken = {number: each for number, each in positions.items() if len(each[1]) <= self.most_characters}
        self.groups.setdefault(group, {}).update(taken)
        if len(taken) < len(positions):
            raise GroupRefusedError(group, "metadata is too long", "OFFSET_METADATA_TOO_LARGE")

    def delete(self, group: str) -> None:
        """Delete."""
        self._step(group)
        self.groups.pop(group, None)

    def offsets_at(self, topic: str, moment: Moment) -> dict[int, int]:
        """Tell the ends; a time is itself."""
        del topic
        return dict.fromkeys(
            PARTITIONS, {"earliest": 0, "latest": END}.get(str(moment), moment if isinstance(moment, int) else 0)
        )

    def _step(self, group: str) -> None:
        if group in self.members:
            raise GroupInUseError(group, "has members", "NON_EMPTY_GROUP", ErrorKind.RETRYABLE)
        if self.crash_after is not None:
            if not self.crash_after:
                raise SystemExit
            self.crash_after -= 1
