"""Hold the descriptors of today against the released ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

Released = dict[str, dict[str, dict[str, Any]]]


def describe(files: Iterable[FileDescriptorProto]) -> Released:
    """Return every message (and `extensions`) with its fields by number: what must never change."""
    described: Released = {}
    for file in files:
        for message in file.message_type:
            _describe_message(message, file.package, described)
        if file.extension:
            described[f"{file.package}.extensions"] = _describe_fields(file.extension)
    return described


def _describe_message(message: DescriptorProto, scope: str, described: Released) -> None:
    name = f"{scope}.{message.name}"
    described[name] = _describe_fields(message.field, [oneof.name for oneof in message.oneof_decl])
    for nested in message.nested_type:
        _describe_message(nested, name, described)


def _describe_fields(
    fields: Iterable[FieldDescriptorProto], oneofs: list[str] | None = None
) -> dict[str, dict[str, Any]]:
    return {str(field.number): _describe_field(field, oneofs or []) for field in fields}


def _describe_field(field: FieldDescriptorProto, oneofs: list[str]) -> dict[str, Any]:
    return {
        "name": field.name,
        "label": field.Label.Name(field.label),
        "type": field.Type.Name(field.type),
        "type_name": field.type_name,
        "extendee": field.extendee,
        "oneof": oneofs[field.oneof_index] if field.HasField("oneof_index") else "",
    }


def breaks(released: Released, today: Released) -> list[str]:
    """Name every released field that is gone, moved, or something else today; additions are free."""
    return sorted(
        f"{message}.{number}"
        for message, fields in released.items()
        for number, field in fields.items()
        if today.get(message, {}).get(number) != field
    )
