"""The manifests as the tests see them: what `kubectl kustomize` makes of a directory, for the parts of kustomize used here."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
KUBERNETES = ROOT / "deploy" / "kubernetes"
BASE = KUBERNETES / "base"
DEPLOYMENT = KUBERNETES / "overlays" / "deployment"

Manifest = dict[str, Any]

_KNOWN = {"apiVersion", "kind", "resources", "configMapGenerator", "patches", "labels", "images"}


def read_manifests(path: Path) -> list[Manifest]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document is not None]


def render(directory: Path) -> list[Manifest]:
    [kustomization] = read_manifests(directory / "kustomization.yaml")
    unknown = kustomization.keys() - _KNOWN
    assert not unknown, f"teach this helper {unknown}"
    manifests = [found for name in kustomization["resources"] for found in _resource(directory / name)]
    manifests += [_config_map(directory, entry) for entry in kustomization.get("configMapGenerator", [])]
    for patch in kustomization.get("patches", []):
        _apply(patch, manifests)
    for labels in kustomization.get("labels", []):
        for manifest in manifests:
            manifest["metadata"].setdefault("labels", {}).update(labels["pairs"])
    return manifests


def find(manifests: list[Manifest], kind: str, name: str) -> Manifest:
    [found] = [item for item in manifests if (item["kind"], item["metadata"]["name"]) == (kind, name)]
    return found


def pod_of(deployment: Manifest) -> Manifest:
    spec: Manifest = deployment["spec"]["template"]["spec"]
    return spec


def all_containers(pod: Manifest) -> list[Manifest]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def _resource(path: Path) -> list[Manifest]:
    return render(path) if path.is_dir() else read_manifests(path)


def _config_map(directory: Path, entry: Manifest) -> Manifest:
    data = {name: (directory / name).read_text() for name in entry["files"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": entry["name"]}, "data": data}


def _apply(patch: Manifest, manifests: list[Manifest]) -> None:
    target = find(manifests, patch["target"]["kind"], patch["target"]["name"])
    for operation in yaml.safe_load(patch["patch"]):
        assert operation["op"] == "remove", "teach this helper the other operations"
        *parents, last = operation["path"].strip("/").split("/")
        node = target
        for parent in parents:
            node = node[parent]
        del node[last]
