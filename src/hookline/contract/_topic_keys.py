"""Topic keys: the logical names of the topics that carry a message class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hookline.contract._errors import ContractError
from hookline.contract.v1 import options_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["HOOK_TOPIC_KEY", "bind_topic_keys", "topic_keys"]

HOOK_TOPIC_KEY: Final = "hook"


def topic_keys(message: type[Message]) -> tuple[str, ...]:
    """Return the topic keys that a message class declares by the option `hookline.v1.topic_keys`."""
    return tuple(message.DESCRIPTOR.GetOptions().Extensions[options_pb2.topic_keys])


def bind_topic_keys(*messages: type[Message]) -> dict[str, type[Message]]:
    """Map each topic key to the one message class that declares it; raises ContractError when two declare it."""
    bound: dict[str, type[Message]] = {}
    for message in messages:
        for key in topic_keys(message):
            if bound.setdefault(key, message) is not message:
                raise ContractError(f"the topic key {key!r} is declared by two messages")
    return bound
