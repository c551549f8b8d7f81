"""The settings that ship are settings that the service takes."""

import base64
import shutil
from pathlib import Path

import pytest

from hookline import Event
from hookline.service import build_hooks, load_settings
from tests.unit.deploy._manifests import BASE, KUBERNETES, ROOT, read_manifests

SECRETS = "/run/secrets/hookline"


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """Lay the settings and the example Secret out as the Pod does, under a folder of the test."""
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    [secret] = read_manifests(KUBERNETES / "secret.example.yaml")
    for name, text in secret["stringData"].items():
        (secrets / name).write_text(text)
    path = tmp_path / "hookline.toml"
    path.write_text((BASE / "hookline.toml").read_text().replace(SECRETS, str(secrets)))
    return path


def test_the_settings_of_the_base_load(mounted: Path) -> None:
    """The settings in the ConfigMap are accepted as they stand, with the Secret's files in their place."""
    settings = load_settings(mounted, {})
    assert settings.hook_topic() == "submitqueue-hook"
    assert settings.kafka.common["sasl.password"] == "replace-me"
    assert [hook.name for hook in settings.hooks] == ["log", "ci"]


def test_the_hooks_of_the_base_are_built(mounted: Path) -> None:
    """Every hook in the ConfigMap is of a kind that ships, with options that the kind takes."""
    secret = mounted.parent / "secrets" / "ci-secret"
    secret.write_text(f"whsec_{base64.b64encode(bytes(32)).decode()}")
    secret.chmod(0o400)
    hooks = build_hooks(load_settings(mounted, {}))
    landed = Event.versioned(source="submitqueue", type="request.landed", subject="request-1", version=1)
    assert {hook.name for hook in hooks.for_event(landed)} == {"log", "ci"}


def test_the_secrets_of_the_base_are_known_as_secrets(mounted: Path) -> None:
    """What comes from a mounted Secret is masked wherever the settings are shown (P15)."""
    shown = load_settings(mounted, {}).redacted()["kafka"]["common"]
    assert "replace-me" not in {shown["sasl.username"], shown["sasl.password"]}


def test_the_settings_of_the_example_image_load(tmp_path: Path) -> None:
    """The example's settings are accepted, and name its hooks."""
    path = shutil.copy(ROOT / "examples" / "image" / "hookline.toml", tmp_path)
    settings = load_settings(Path(path), {})
    assert settings.app == "announce_hooks:hooks"
    assert settings.http.listen == "0.0.0.0:8190"
