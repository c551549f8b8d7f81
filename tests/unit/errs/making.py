"""Errors of libraries that are not installed."""

from __future__ import annotations


def foreign(module: str, *names: str, base: type[Exception] = Exception, **attributes: object) -> Exception:
    """Make an error of a library that is not installed: `names` from the base class down."""
    kind: type[Exception] = base
    for name in names:
        kind = type(name, (kind,), {"__module__": module})
    error = kind("boom")
    for attribute, value in attributes.items():
        setattr(error, attribute, value)
    return error
