"""Event identities: minted here, deterministic, equal in every language, never parsed by a consumer."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from hookline.contract._errors import InvalidEventError

__all__ = ["mint_unversioned_id", "mint_versioned_id"]

FIRST_VERSION: Final = 1


def mint_versioned_id(source: str, type: str, subject: str, version: int) -> str:
    """Mint `source/type/subject/version`, the identity of a versioned write.

    Injective over any strings: in each component every UTF-8 byte outside `A-Za-z0-9-._~` is written as
    upper-case %XX. Raises InvalidEventError on a component that is no Unicode text (a lone surrogate), and
    on a version below 1.
    """
    return _join(source=source, type=type, subject=subject, version=_number("version", version, least=FIRST_VERSION))


def mint_unversioned_id(source: str, type: str, subject: str, cause: str, ordinal: int = 0) -> str:
    """Mint `source/type/subject/cause/ordinal`, the identity of an event that no versioned write stands behind.

    `cause` is the id of the message that caused it, `ordinal` tells several events of one type and cause apart.
    Five parts, so that it can never equal a versioned id. Raises InvalidEventError as mint_versioned_id does,
    and on a negative ordinal.
    """
    number = _number("ordinal", ordinal, least=0)
    return _join(source=source, type=type, subject=subject, cause=cause, ordinal=number)


def _join(**components: str) -> str:
    return "/".join(_escape(name, component) for name, component in components.items())


def _escape(name: str, component: str) -> str:
    if not isinstance(component, str):
        raise InvalidEventError(name, f"must be a string, not {component.__class__.__name__}")
    try:
        return quote(component, safe="")
    except UnicodeEncodeError as error:
        raise InvalidEventError(name, "holds a lone surrogate, which no language can write as UTF-8") from error


def _number(name: str, number: int, *, least: int) -> str:
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidEventError(name, f"must be an integer, not {number.__class__.__name__}")
    if number < least:
        raise InvalidEventError(name, f"must be at least {least}")
    return str(int(number))
