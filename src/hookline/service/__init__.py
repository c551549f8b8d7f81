"""The running service: its settings, its hooks, its health.

Settings are read once, by `load_settings`, and passed on; nothing here reads the environment at import.
"""

from __future__ import annotations

from hookline.service._check import check_connections, check_settings
from hookline.service._dead_letters import dead_letters_of, redactor_of
from hookline.service._gatekeeper import Gatekeeper
from hookline.service._health import Check, HealthServer, ListenError
from hookline.service._hooks import build_hooks
from hookline.service._inventory import HookRow, Origin, list_hooks
from hookline.service._isolation import Isolation
from hookline.service._listen import ListenAddress
from hookline.service._load import load_settings
from hookline.service._logging import configure_service_logging
from hookline.service._loop import run_service
from hookline.service._notes import notes_on
from hookline.service._parts import Selection
from hookline.service._problems import Problem, SettingsError, nearest
from hookline.service._replay import Replay
from hookline.service._replay_plan import ReplayError, ReplayPlan, ReplayProgress, ReplayReport, ReplayRequest
from hookline.service._service import Service
from hookline.service._settings import Settings
from hookline.service._topics import wanted_topics
from hookline.service._trial import try_hook
from hookline.service._waiting import hold_off, wait_until_usable

__all__ = [
    "Check",
    "Gatekeeper",
    "HealthServer",
    "HookRow",
    "Isolation",
    "ListenAddress",
    "ListenError",
    "Origin",
    "Problem",
    "Replay",
    "ReplayError",
    "ReplayPlan",
    "ReplayProgress",
    "ReplayReport",
    "ReplayRequest",
    "Selection",
    "Service",
    "Settings",
    "SettingsError",
    "build_hooks",
    "check_connections",
    "check_settings",
    "configure_service_logging",
    "dead_letters_of",
    "hold_off",
    "list_hooks",
    "load_settings",
    "nearest",
    "notes_on",
    "redactor_of",
    "run_service",
    "try_hook",
    "wait_until_usable",
    "wanted_topics",
]
