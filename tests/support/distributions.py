"""Distributions that look installed: a module and its metadata in a folder, for tests of plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CHAT", "install"]

CHAT = """
from pathlib import Path
from pydantic import BaseModel, SecretStr

class Options(BaseModel):
    room: str
    token_file: Path | None = None
    pin: SecretStr | None = None

class Chat:
    kind = "chat"
    Options = Options

    def __init__(self, name, options):
        self.name = name
        self.options = options
        self.said = []

    async def __aenter__(self):
        self.said.append("entered")
        return self

    async def __aexit__(self, *_):
        self.said.append("left")

    async def handle(self, event):
        self.said.append(event.subject)
"""
"""The code of a module with the kind `chat`."""


def install(folder: Path, name: str, module: str, points: dict[str, str], *, version: str = "1.2.0") -> None:
    """Lay a distribution of one module into a folder; `points` are its entry points, such as `{"chat": "Chat"}`."""
    file = name.replace("-", "_")
    (folder / f"{file}.py").write_text(module)
    info = folder / f"{file}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"{kind} = {file}:{attribute}" for kind, attribute in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[hookline.hooks]", *lines, ""]))
