from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.integrations import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.integrations import Integration


def build(kind: str, name: str, options: Mapping[str, object]) -> Integration:
    """Make a hook of a kind from its keys in `[[hooks]]`."""
    integration = KINDS[kind]
    return integration(name, integration.Options.model_validate(options))
