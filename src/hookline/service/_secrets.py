"""Values that stand in files of their own, and what is never shown.

A value may be ``{ file = "..." }``: the text of that file, less one newline at its end. Such a value is a secret wherever
it stands. Other values are secrets by the name of their key; from a URL only its credentials and tokens are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from hookline.contract import WebhookSecretError, parse_webhook_secret
from hookline.service._problems import Problem, SettingsError
from hookline.service._sources import Location, is_file_reference, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MASK = "********"

_MOUNT = "mount the file, or correct its path (it starts from the folder of the settings file)"

_CREDENTIAL_KEY = re.compile(
    r"password|passwd|passphrase|secret|token|credential|authorization|cookie|^headers$|api[._-]?key|private|ssl[._]key|"
    r"(^|[._-])dsn$|^sasl\..*config$",
    re.IGNORECASE,
)
# Not shown, but not to be masked in every log line either: user names and the like.
_HIDDEN_KEY = re.compile(r"^sasl\.(?!mechanisms?$)")
_SHORTEST_SECRET = 6
_PLACE_OF_A_SECRET = re.compile(r"([._-](file|path|location|url)|_seconds)$", re.IGNORECASE)
_NEWLINE = re.compile(r"\r?\n\Z")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")
_ASSIGNMENT = re.compile(r"(?i)\b(password|passwd|pwd|secret|token|key)(\s*=\s*)[^\s;&]+")
_TOKEN_SEGMENT = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_-]{16,}")


class FileValues:
    """Replaces ``{ file = "..." }`` by what the file holds, and remembers where it did."""

    def __init__(self, folder: Path, place: Callable[[Location], str]) -> None:
        self._folder = folder
        self._place = place
        self._tables: Any = None
        self.locations: set[Location] = set()
        self.problems: list[Problem] = []

    def resolve(self, value: Any, location: Location = ()) -> Any:
        """Return the same tables and lists with every reference replaced."""
        if not location:
            self._tables = value
        if is_file_reference(value):
            return self._read(value["file"], location)
        if isinstance(value, dict):
            return {key: self.resolve(member, (*location, key)) for key, member in value.items()}
        if isinstance(value, list):
            return [self.resolve(member, (*location, index)) for index, member in enumerate(value)]
        return value

    def _read(self, name: str, location: Location) -> str:
        self.locations.add(location)
        path = self._folder / name
        try:
            text = path.read_bytes().decode()
        except OSError as error:
            self._refuse(location, f"file {path} cannot be read: {error.strerror or type(error).__name__}")
        except ValueError:
            self._refuse(location, f"file {path} is not UTF-8 text")
        else:
            return _NEWLINE.sub("", text)
        return ""

    def _refuse(self, location: Location, what: str) -> None:
        self.problems.append(Problem(f"{spoken(location, self._tables)}: {what}", self._place(location), _MOUNT))


def signing_keys(path: Path, key: str, where: str) -> list[bytes]:
    """Read the keys behind a file of ``whsec_`` secrets, one a line, in its order.

    Raises `SettingsError` when the file cannot be read, is empty or holds a line that is no secret.
    """
    return [_signing_key(secret, f"{key}: file {path}", where) for secret in _secret_lines(path, key, where)]


def _signing_key(secret: str, what: str, where: str) -> bytes:
    try:
        return parse_webhook_secret(secret)
    except WebhookSecretError as error:
        fix = "write whsec_ secrets into it, one a line"
        raise SettingsError([Problem(f"{what}: {error}", where, fix)]) from None


def _secret_lines(path: Path, key: str, where: str) -> list[str]:
    try:
        lines = [line.strip() for line in path.read_bytes().decode().splitlines()]
    except OSError as error:
        what = f"{key}: file {path} cannot be read: {error.strerror or type(error).__name__}"
        raise SettingsError([Problem(what, where, _MOUNT)]) from None
    except ValueError:
        raise SettingsError([Problem(f"{key}: file {path} is not UTF-8 text", where, _MOUNT)]) from None
    secrets = [line for line in lines if line]
    if not secrets:
        raise SettingsError([Problem(f"{key}: file {path} is empty", where, "write the secret into it")])
    return secrets


def names_secret_file(key: str) -> bool:
    """Tell whether an option of this name names a file that holds a secret, as ``token_file`` does."""
    return key.endswith("_file") and _CREDENTIAL_KEY.search(key.removesuffix("_file")) is not None


def redacted(value: Any, secrets: frozenset[Location], location: Location = ()) -> Any:
    """Copy tables and lists with every secret replaced by a mask."""
    if isinstance(value, dict):
        return {key: redacted(member, secrets, (*location, key)) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [redacted(member, secrets, (*location, index)) for index, member in enumerate(value)]
    if value not in (None, "", True, False) and (location in secrets or _is_secret(location)):
        return MASK
    return redacted_text(value) if isinstance(value, str) else value


def secret_texts(value: Any, secrets: frozenset[Location], location: Location = ()) -> Iterator[str]:
    """Yield the texts that a redactor must mask wherever they turn up; too short ones would mask half of every line."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from secret_texts(member, secrets, (*location, key))
    elif isinstance(value, (list, tuple)):
        for index, member in enumerate(value):
            yield from secret_texts(member, secrets, (*location, index))
    elif isinstance(value, str):
        whole = _is_credential(location) or (location in secrets and not _any_name(location, _HIDDEN_KEY))
        found = [value] if whole else list(_secrets_in_urls(value))
        yield from (text for text in found if len(text) >= _SHORTEST_SECRET)


def _secrets_in_urls(text: str) -> Iterator[str]:
    for url in _URL.findall(text):
        try:
            parts = urlsplit(url)
        except ValueError:
            continue
        user, _, password = parts.netloc.rpartition("@")[0].partition(":")
        yield unquote(password or user)
        yield from (value for _, value in parse_qsl(parts.query))
        yield from filter(_TOKEN_SEGMENT.fullmatch, parts.path.split("/"))


def redacted_text(text: str) -> str:
    """Mask credentials, query values and token-like path segments of URLs, and ``password=...`` anywhere."""
    text = _URL.sub(lambda match: _redacted_url(match[0]), text)
    return _ASSIGNMENT.sub(rf"\1\2{MASK}", text)


def _redacted_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    _, at, host = parts.netloc.rpartition("@")
    path = "/".join(MASK if _TOKEN_SEGMENT.fullmatch(segment) else segment for segment in parts.path.split("/"))
    query = re.sub(r"=[^&]*", f"={MASK}", parts.query) if "=" in parts.query else parts.query and MASK
    return urlunsplit((parts.scheme, f"{MASK}@{host}" if at else host, path, query, parts.fragment and MASK))


def _is_credential(location: Location) -> bool:
    return _any_name(location, _CREDENTIAL_KEY)


def _is_secret(location: Location) -> bool:
    return _any_name(location, _CREDENTIAL_KEY) or _any_name(location, _HIDDEN_KEY)


def _any_name(location: Location, pattern: re.Pattern[str]) -> bool:
    names = [name for name in location if isinstance(name, str)]
    return any(pattern.search(name) and not _PLACE_OF_A_SECRET.search(name) for name in names)
