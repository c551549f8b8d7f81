"""Where the health server listens."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<name>[^\s:\[\]/@]+)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A host and a TCP port; port 0 lets the system choose one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> ListenAddress:
        """Read ``host:port``, an IPv6 address in brackets.

        Raises `ValueError` when it is anything else.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None or int(match["port"]) > 65535:  # noqa: PLR2004 - the largest TCP port
            raise ValueError('must be "host:port", such as "127.0.0.1:8190" or "[::1]:8190"')
        return cls(match["six"] or match["name"], int(match["port"]))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"
