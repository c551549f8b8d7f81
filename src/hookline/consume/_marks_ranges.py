"""Half-open ascending ranges of offsets: joined from single ones, cut, and written as columns of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

Said = TypeVar("Said")


def join_neighbours(delivered: Iterable[int], wanted: AbstractSet[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Join the wanted of the delivered that follow one another, over holes too; return ranges, and the wanted in order."""
    ranges: list[tuple[int, int]] = []
    found: list[int] = []
    joined = 0  # how many of the found lie in ranges that are closed
    for offset in delivered:
        if offset in wanted:
            found.append(offset)
        elif len(found) > joined:
            ranges.append((found[joined], found[-1] + 1))
            joined = len(found)
    if len(found) > joined:
        ranges.append((found[joined], found[-1] + 1))
    return ranges, found


def join_equal(offsets: Iterable[int], said: Mapping[int, Said]) -> list[tuple[int, int, Said]]:
    """Join successive offsets of which the same is said; one of which nothing is said parts its neighbours."""
    runs: list[tuple[int, int, Said]] = []
    before: Said | None = None
    for offset in offsets:
        now = said.get(offset)
        if now is not None:
            start = runs.pop()[0] if now is before or now == before else offset
            runs.append((start, offset + 1, now))
        before = now
    return runs


def to_columns(ranges: Iterable[tuple[int, int]], position: int) -> tuple[list[int], list[int]]:
    """Write ranges as gaps, each from the end before it or the position, and lengths less one."""
    gaps: list[int] = []
    lengths: list[int] = []
    before = position
    for start, end in ranges:
        gaps.append(start - before)
        lengths.append(end - start - 1)
        before = end
    return gaps, lengths


def from_columns(gaps: Iterable[int], lengths: Iterable[int], position: int) -> Iterator[tuple[int, int]]:
    """Read ranges again."""
    end = position
    for gap, length in zip(gaps, lengths, strict=True):
        start = end + gap
        end = start + length + 1
        yield start, end


def to_gaps(offsets: Iterable[int], position: int) -> list[int]:
    """Write single offsets as gaps."""
    return to_columns([(offset, offset + 1) for offset in offsets], position)[0]


def from_gaps(gaps: Sequence[int], position: int) -> Iterator[int]:
    """Read single offsets again."""
    return (start for start, _ in from_columns(gaps, [0] * len(gaps), position))


def split_columns(values: list[int], count: int) -> list[list[int]]:
    """Take columns apart that stand one behind the other; ValueError when they are not of one length."""
    rows, rest = divmod(len(values), count)
    if rest:
        raise ValueError("columns of different lengths")
    return [values[rows * column : rows * (column + 1)] for column in range(count)]
