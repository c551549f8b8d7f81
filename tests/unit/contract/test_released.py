"""The wire format never breaks: today's descriptors against the released ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from hookline.contract.v1 import cloudevent_pb2, hook_pb2, options_pb2
from tests.unit.contract.compatibility import breaks, describe

if TYPE_CHECKING:
    from tests.unit.contract.compatibility import Released

RELEASED: Released = json.loads((Path(__file__).parent / "released.json").read_text())
SEED = {
    "id": (1, FieldDescriptorProto.TYPE_STRING),
    "source": (2, FieldDescriptorProto.TYPE_STRING),
    "type": (3, FieldDescriptorProto.TYPE_STRING),
    "timestamp_ms": (4, FieldDescriptorProto.TYPE_INT64),
    "version": (5, FieldDescriptorProto.TYPE_INT32),
    "payload": (6, FieldDescriptorProto.TYPE_MESSAGE),
}

Change = Callable[[FileDescriptorProto], object]


def today() -> list[FileDescriptorProto]:
    """Return copies of today's files, which a test may change."""
    files = []
    for module in (options_pb2, hook_pb2, cloudevent_pb2):
        files.append(FileDescriptorProto())
        module.DESCRIPTOR.CopyToProto(files[-1])
    return files


def hook_event_of(file: FileDescriptorProto) -> list[FieldDescriptorProto]:
    """Return the fields of HookEvent."""
    return list(file.message_type[0].field)


def test_nothing_released_has_changed() -> None:
    """No field is renumbered, retyped, renamed, removed or reused (H1). Add new ones to released.json at a release."""
    assert breaks(RELEASED, describe(today())) == []


def test_released_are_the_seeds_fields() -> None:
    """The released HookEvent is exactly the seed's six fields and numbers (H1)."""
    fields = RELEASED["hookline.v1.HookEvent"]
    assert {
        field["name"]: (int(number), FieldDescriptorProto.Type.Value(field["type"])) for number, field in fields.items()
    } == SEED
    assert fields["6"]["type_name"] == ".google.protobuf.Struct"


def rename(file: FileDescriptorProto) -> None:
    """Rename a field: the JSON form breaks."""
    hook_event_of(file)[0].name = "identity"


def remove(file: FileDescriptorProto) -> None:
    """Remove the last field."""
    del file.message_type[0].field[-1]


def reuse(file: FileDescriptorProto) -> None:
    """Remove a field and give its number to another."""
    remove(file)
    file.message_type[0].field.add(name="detail", number=6, type=FieldDescriptorProto.TYPE_STRING)


def retype(file: FileDescriptorProto) -> None:
    """Widen the version: the same bytes, another type in every language."""
    hook_event_of(file)[4].type = FieldDescriptorProto.TYPE_INT64


def swap_message(file: FileDescriptorProto) -> None:
    """Let the payload be another message."""
    hook_event_of(file)[5].type_name = ".google.protobuf.Any"


def renumber(file: FileDescriptorProto) -> None:
    """Move the id to a number of its own."""
    hook_event_of(file)[0].number = 7


def repeat(file: FileDescriptorProto) -> None:
    """Make the type a list."""
    hook_event_of(file)[2].label = FieldDescriptorProto.LABEL_REPEATED


def drop_message(file: FileDescriptorProto) -> None:
    """Remove the message."""
    del file.message_type[0]


@pytest.mark.parametrize("change", [rename, remove, reuse, retype, swap_message, renumber, repeat, drop_message])
def test_the_check_can_fail(change: Change) -> None:
    """Every way to break the wire format is seen."""
    files = today()
    change(files[1])
    assert breaks(RELEASED, describe(files)) != []


def test_the_check_sees_extensions() -> None:
    """Renumbering the topic_keys option is a break too."""
    files = today()
    files[0].extension[0].number += 1
    assert breaks(RELEASED, describe(files)) == ["hookline.v1.extensions.50817"]


def test_the_check_sees_a_oneof() -> None:
    """Moving a field out of its oneof is a break."""
    files = today()
    files[2].message_type[0].field[5].ClearField("oneof_index")
    assert breaks(RELEASED, describe(files)) == ["hookline.v1.CloudEvent.6"]


def test_additions_are_free() -> None:
    """A new field under a new number breaks nothing."""
    files = today()
    files[1].message_type[0].field.add(name="added", number=7, type=FieldDescriptorProto.TYPE_STRING)
    assert breaks(RELEASED, describe(files)) == []


def test_options_of_other_languages() -> None:
    """Go and Java find their packages in every file."""
    for file in today():
        options = file.options
        assert (options.go_package, options.java_package) == (
            "hookline.dev/go/hooklinev1;hooklinev1",
            "dev.hookline.v1",
        )
        assert options.java_multiple_files
        assert options.java_outer_classname.endswith("Proto")
