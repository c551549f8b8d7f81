"""Where in somebody's code an error was raised: a file, a line and a function, no source text and no values."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hookline.errs._text import clean, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

MAX_LOCATION_BYTES: Final = 256
_MAX_PARTS: Final = 3

_OURS: Final = str(Path(__file__).parents[1])
_STANDARD: Final = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
_FOREIGN_FOLDERS: Final = tuple(f"{folder}/" for folder in (_OURS, *sorted(_STANDARD)))
_INSTALLED: Final = ("/site-packages/", "/dist-packages/")

_trace_of = BaseException.__dict__["__traceback__"].__get__


def raised_at(errors: Iterable[BaseException], *, redact: Callable[[str], str]) -> str | None:
    """Return where the first of `errors` was raised that was raised at all; None when none was.

    Of each the deepest frame counts that belongs neither to hookline nor to the standard library nor to an installed
    package. When none has such a frame, it is the deepest frame of the first. Never raises.
    """
    places = [found for error in errors if (found := list(_places(_trace_of(error))))]
    own = (place for found in places for place in reversed(found) if _is_own(place[0]))
    place = next(own, places[0][-1] if places else None)
    return cut(clean(redact(_told(*place))), MAX_LOCATION_BYTES) if place else None


def _places(trace: TracebackType | None) -> Iterator[tuple[str, int, str]]:
    while trace is not None:
        code = trace.tb_frame.f_code
        yield code.co_filename, trace.tb_lineno or 0, code.co_name
        trace = trace.tb_next


def _is_own(file: str) -> bool:
    return not (file.startswith((*_FOREIGN_FOLDERS, "<")) or any(folder in file for folder in _INSTALLED))


def _told(file: str, line: int, function: str) -> str:
    short = "/".join(file.strip("/").split("/")[-_MAX_PARTS:])
    return f"{short}:{line} in {function}"
