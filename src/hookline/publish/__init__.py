"""Publishing hook events, confirmed.

A controller writes its state, publishes the hook event, publishes downstream, then acks. A publish that fails raises,
so that the delivery fails and is replayed: `publish()` never returns without the broker's confirmation.
"""

from ._errors import EventNotPublishedError, EventRefusedError, PublishError, TopicKeyMissingError
from ._publisher import HookPublisher, Producer, PublisherSettings, PublishResult
from ._registry import TopicRegistry
from ._sync import SyncHookPublisher

__all__ = [
    "EventNotPublishedError",
    "EventRefusedError",
    "HookPublisher",
    "Producer",
    "PublishError",
    "PublishResult",
    "PublisherSettings",
    "SyncHookPublisher",
    "TopicKeyMissingError",
    "TopicRegistry",
]
