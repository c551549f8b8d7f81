"""The commands that a person types."""

from ._app import main

__all__ = ["main"]
