"""Topic keys by the message option."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.struct_pb2 import Struct

from hookline.contract import HOOK_TOPIC_KEY, ContractError, HookEvent, bind_topic_keys, topic_keys
from hookline.contract.v1 import options_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message


def message_with_keys(name: str, *keys: str) -> type[Message]:
    """Make a message class that declares topic keys."""
    file = descriptor_pb2.FileDescriptorProto(name=f"tests/{name}.proto", package="tests.topic_keys", syntax="proto3")
    message = file.message_type.add(name=name)
    message.options.Extensions[options_pb2.topic_keys].extend(keys)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made: type[Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tests.topic_keys.{name}"))
    return made


def test_hook_event() -> None:
    """HookEvent travels on the topic whose key is "hook" (H1)."""
    assert topic_keys(HookEvent) == (HOOK_TOPIC_KEY,) == ("hook",)


def test_message_without_keys() -> None:
    """A message that declares none has none."""
    assert topic_keys(Struct) == ()


def test_binding() -> None:
    """Each key belongs to one message; one message may have several keys."""
    log = message_with_keys("Log", "log", "audit")
    assert bind_topic_keys(HookEvent, log, HookEvent) == {"hook": HookEvent, "log": log, "audit": log}


def test_key_of_two_messages() -> None:
    """A key that two messages declare is refused."""
    with pytest.raises(ContractError):
        bind_topic_keys(HookEvent, message_with_keys("Other", "hook"))
