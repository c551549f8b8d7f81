"""A fresh domain, and its stage in a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from hookline.kafka import TopicAdmin
from hookline.service import Settings, load_settings, wanted_topics

if TYPE_CHECKING:
    from collections.abc import Mapping

_HOOKLINE: Final = Path(sys.executable).with_name("hookline")
_READY_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.2
_STOP_SECONDS: Final = 40.0
_ISOLATION: Final = {"shared": "", "own": "", "per-hook": 'isolation = "per-hook"\nstart = "earliest"\n'}
_OWN: Final = 'isolation = "own"\nstart = "earliest"\n'


class StageError(Exception):
    """The stage does not run; carries the end of its log."""


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain that nobody used before."""

    config: Path
    settings: Settings

    @classmethod
    def fresh(cls, bootstrap: str, folder: Path, mode: str, urls: Mapping[str, str], *, window: int) -> Domain:
        """Make a domain with a webhook for each URL, the first of them on its own in mode `own`, and its topics. Blocks."""
        config = folder / "hookline.toml"
        domain = f"outage-{mode}-{uuid4().hex[:8]}"
        tables = [
            f'[[hooks]]\nname = "{name}"\nkind = "webhook"\nurl = "{url}"\nallow_private_addresses = true\n'
            + (_OWN if mode == "own" and place == 0 else "")
            for place, (name, url) in enumerate(urls.items())
        ]
        text = (
            f'domain = "{domain}"\n{_ISOLATION[mode]}[kafka.common]\n"bootstrap.servers" = "{bootstrap}"\n'
            f'[http]\nlisten = "127.0.0.1:0"\n[topics]\ncontrol = ""\n[consume]\nwindow_records = {window}\n'
        )
        config.write_text(text + "\n".join(tables))
        settings = load_settings(config, {})
        with TopicAdmin(settings.client_config()) as admin:
            for change in admin.plan(wanted_topics(settings, None)):
                admin.apply(change)
        return cls(config, settings)

    def dead_letters(self) -> int:
        """Count what lies in the dead-letter topic. Blocks."""
        with TopicAdmin(self.settings.client_config()) as admin:
            return sum(admin.end_offsets(self.settings.dead_letter_topic()).values())


class Stage:
    """`hookline run`, seen from outside. Raises StageError."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._log = domain.config.with_name("stage.log")

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                _HOOKLINE,
                "run",
                "--config",
                self._domain.config,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        async with asyncio.timeout(_READY_SECONDS), httpx2.AsyncClient(timeout=5.0) as client:
            while not await self._is_ready(client):
                if self._process.returncode is not None:
                    raise StageError(f"the stage ended {self._process.returncode}: {self._log.read_text()[-2000:]}")
                await asyncio.sleep(_LOOK_SECONDS)

    async def stop(self) -> None:
        """Have it drain and end."""
        self._process.terminate()
        async with asyncio.timeout(_STOP_SECONDS):
            code = await self._process.wait()
        if code:
            raise StageError(f"the stage ended {code}: {self._log.read_text()[-2000:]}")

    def memory_mib(self) -> float:
        """Tell its resident memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    async def waiting(self) -> dict[str, float]:
        """Tell by hook how many events wait for it now."""
        async with httpx2.AsyncClient(timeout=5.0) as client:
            answer = await client.get(f"http://{self._address()}/metrics")
        samples = (each for family in text_string_to_metric_families(answer.text) for each in family.samples)
        return {each.labels["hook"]: each.value for each in samples if each.name == "hookline_waiting_events"}

    async def _is_ready(self, client: httpx2.AsyncClient) -> bool:
        address = self._address()
        try:
            return bool(address) and (await client.get(f"http://{address}/readyz")).is_success
        except httpx2.TransportError:
            return False

    def _address(self) -> str:
        for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("{") and line.endswith("}") and "http" in (entry := json.loads(line)):
                return str(entry["http"])
        return ""
