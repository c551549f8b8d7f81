"""Durable hook events on Kafka: one CloudEvents envelope, many integrations, nothing lost.

What users import is here; settings are in `hookline.service`, verdicts and wraps of errors in `hookline.errs`.
"""

from hookline.contract import Event
from hookline.hooks import Hook, Hooks, is_superseded
from hookline.publish import HookPublisher, SyncHookPublisher

__all__ = ["Event", "Hook", "HookPublisher", "Hooks", "SyncHookPublisher", "is_superseded"]
