"""The settings that ship are settings that the service takes."""

import shutil
from pathlib import Path

import pytest

from hookline.service import load_settings
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
