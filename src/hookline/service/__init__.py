"""The running service: its settings, its hooks, its health.

Settings are read once, by `load_settings`, and passed on; nothing here reads the environment at import.
"""

from __future__ import annotations

from hookline.service._listen import ListenAddress
from hookline.service._load import load_settings
from hookline.service._problems import Problem, SettingsError
from hookline.service._settings import Settings

__all__ = [
    "ListenAddress",
    "Problem",
    "Settings",
    "SettingsError",
    "load_settings",
]
