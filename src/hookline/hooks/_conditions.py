"""Conditions of hooks: predicates over an event in CEL, the Common Expression Language.

ValueError
+-- InvalidConditionError     a text is no condition; told at start
Exception
+-- ConditionError            a condition cannot be answered for an event; the failure of its hook
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    import cel

    from hookline.contract import Event

MAX_CHARACTERS: Final = 4_096

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VARIABLES: Final[dict[str, Callable[[Event], Any]]] = {
    "attributes": lambda event: event.attributes,
    "id": lambda event: event.id,
    "payload": lambda event: event.payload,
    "source": lambda event: event.source,
    "subject": lambda event: event.subject,
    "timestamp": lambda event: _EPOCH + timedelta(milliseconds=event.timestamp_ms),
    "type": lambda event: event.type,
    "version": lambda event: event.version,
}
_TYPES: Final = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})
_FUNCTIONS: Final = frozenset((
    "bytes", "contains", "double", "duration", "dyn", "endsWith", "getDate", "getDayOfMonth", "getDayOfWeek",
    "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth", "getSeconds",
    "int", "matches", "size", "startsWith", "string", "timestamp", "type", "uint",
))  # fmt: skip
_STRINGS: Final = re.compile(r"'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_BOUND: Final = re.compile(r"\.\s*(?:all|exists|exists_one|filter|map)\s*\(\s*([A-Za-z_]\w*)\s*,")
_PAYLOAD: Final = re.compile(r"\bpayload\b(?:\s*\.\s*([A-Za-z_]\w*)\b(?!\s*\())?")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_PARSE_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*?)(?: expecting .*)?$", re.MULTILINE)


class InvalidConditionError(ValueError):
    """A text is no condition: no CEL, or it names what an event does not have."""


class ConditionError(Exception):
    """A condition cannot be answered for an event: what it names is missing or of another type, or it says no yes or no."""


class Condition:
    """A predicate over events, in CEL.

    Its variables are `id`, `source`, `type`, `subject`, `version`, `timestamp` (of 1970 when the event has none),
    `payload` and `attributes`. Pure: it says the same of an event each time, and calls nobody. Raises
    InvalidConditionError for a text that is no CEL, and for names that nothing has.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._program = _compile(text)
        variables = set(self._program.variables())
        bare = _STRINGS.sub("''", text)
        _require_known(variables - set(_BOUND.findall(bare)), self._program)
        self._variables = [(name, _VARIABLES[name]) for name in sorted(variables & _VARIABLES.keys())]
        self._members = None if "\\" in text or "//" in text else _members_of_payload(bare)

    def holds(self, event: Event) -> bool:
        """Tell whether it holds for an event. Raises ConditionError when that cannot be told."""
        try:
            answer = self._program.execute(self._context(event))
        except BaseException as error:  # noqa: BLE001 - the library's own, a panic of it is no Exception
            raise ConditionError(f"the condition cannot be answered: {_said(error)}") from None
        if answer is True or answer is False:
            return bool(answer)
        raise ConditionError(f"the condition gives {_kind(answer)}, and not true or false")

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def _context(self, event: Event) -> dict[str, Any]:
        context = {name: read(event) for name, read in self._variables}
        if self._members is not None and "payload" in context:
            payload = context["payload"]
            context["payload"] = {name: payload[name] for name in self._members if name in payload}
        return context


def _compile(text: str) -> cel.Program:
    import cel  # noqa: PLC0415 - it takes a tenth of a second, which a service without conditions is spared

    if len(text) > MAX_CHARACTERS:
        raise InvalidConditionError(f"a condition has at most {MAX_CHARACTERS} characters")
    try:
        return cel.compile(text)
    except BaseException as error:  # noqa: BLE001 - the library's own, a panic of it is no Exception
        raise InvalidConditionError(f"is no CEL: {_place(str(error))}") from None


def _place(message: str) -> str:
    """Tell what a parser has against a text, and where, without the text."""
    found = _PARSE_ERROR.search(message)
    return f"{found[3]}, at line {found[1]}, column {found[2]}" if found else "it cannot be parsed"


def _require_known(variables: set[str], program: cel.Program) -> None:
    unknown = sorted(variables - _VARIABLES.keys() - _TYPES)
    if unknown:
        raise InvalidConditionError(f"an event has no {unknown[0]}; it has {', '.join(_VARIABLES)}")
    functions = {name for name in program.functions() if _NAME.fullmatch(name)}
    missing = sorted(functions - _FUNCTIONS)
    if missing:
        raise InvalidConditionError(f"there is no function {missing[0]}; there are {', '.join(sorted(_FUNCTIONS))}")


def _members_of_payload(bare: str) -> frozenset[str] | None:
    """Tell the members of the payload that are asked for, so that no more is handed over; None for all of it."""
    members = _PAYLOAD.findall(bare)
    return frozenset(members) if all(members) else None


def _said(error: BaseException) -> str:
    """Say in few words what the library raised; its hints for programmers are left out."""
    if isinstance(error, KeyError) and error.args:
        return f"there is no {error.args[0]}"
    if isinstance(error, TypeError):
        return "a value is of another type than it is compared or combined with"
    sentence = str(error).partition(". ")[0].partition("\n")[0]
    return f"{type(error).__name__}: {sentence}"


def _kind(answer: object) -> str:
    return "null" if answer is None else f"a value of type {type(answer).__name__}"
