"""The manifests: valid, restricted, and unable to stand in the controller's way."""

import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from tests.unit.deploy._manifests import (
    BASE,
    DEPLOYMENT,
    KUBERNETES,
    Manifest,
    all_containers,
    find,
    pod_of,
    read_manifests,
    render,
)

OLDEST_SUPPORTED = "1.29"  # the first release with native sidecars on by default
DIRECTORIES = [pytest.param(BASE, id="sidecar"), pytest.param(DEPLOYMENT, id="deployment")]


def sidecar() -> Manifest:
    [container] = pod_of(find(render(BASE), "Deployment", "submitqueue-controller"))["initContainers"]
    return dict(container)


def stage_pods() -> list[Manifest]:
    return [
        pod_of(find(render(BASE), "Deployment", "submitqueue-controller")),
        pod_of(find(render(DEPLOYMENT), "Deployment", "submitqueue-hookline")),
    ]


def stage_of(pod: Manifest) -> Manifest:
    [container] = [item for item in all_containers(pod) if item["name"] == "hookline"]
    return dict(container)


def settings_document() -> dict[str, Any]:
    return tomllib.loads(find(render(BASE), "ConfigMap", "hookline-settings")["data"]["hookline.toml"])


@pytest.mark.parametrize("directory", DIRECTORIES)
@pytest.mark.parametrize("version", [OLDEST_SUPPORTED, kubernetes_validate.latest_version()])
def test_every_manifest_is_valid(directory: Path, version: str) -> None:
    """Every rendered manifest fits the strict schema of the oldest supported and of the newest Kubernetes."""
    for manifest in render(directory):
        kubernetes_validate.validate(manifest, version, strict=True)


def test_the_example_secret_is_valid_and_not_applied() -> None:
    """The example Secret fits the schema, and no kustomization applies its placeholders."""
    [secret] = read_manifests(KUBERNETES / "secret.example.yaml")
    kubernetes_validate.validate(secret, OLDEST_SUPPORTED, strict=True)
    assert all(item["kind"] != "Secret" for item in [*render(BASE), *render(DEPLOYMENT)])


def test_the_sidecar_is_native() -> None:
    """The stage stands among the init containers and is restarted always: started before, stopped after the controller."""
    assert sidecar()["restartPolicy"] == "Always"


def test_the_sidecar_has_a_liveness_probe_only() -> None:
    """No startup or readiness probe of the sidecar can keep the controller from starting or serving."""
    container = sidecar()
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert "startupProbe" not in container
    assert "readinessProbe" not in container
    assert "lifecycle" not in container


def test_refused_settings_do_not_take_the_controller_out_of_service() -> None:
    """While its settings cannot be used the sidecar stays, and answers its probes where it will listen later."""
    container = sidecar()
    stays_at = container["args"][container["args"].index("--stay") + 1]
    assert stays_at == settings_document()["http"]["listen"]


def test_missing_settings_or_secrets_do_not_keep_the_controller_from_starting() -> None:
    """Every volume of the sidecar is optional: a Pod whose volume cannot be mounted starts none of its containers."""
    pod = pod_of(find(render(BASE), "Deployment", "submitqueue-controller"))
    sources = [volume[kind] for volume in pod["volumes"] for kind in volume if kind != "name"]
    assert len(sources) == 2
    assert all(source["optional"] is True for source in sources)


def test_the_sidecar_cannot_have_the_pod_evicted() -> None:
    """The sidecar sets no bound on local storage: passing one evicts the whole Pod, passing its memory only the sidecar."""
    container = sidecar()
    assert "memory" in container["resources"]["limits"]
    assert "ephemeral-storage" not in container["resources"]["limits"]
    pod = pod_of(find(render(BASE), "Deployment", "submitqueue-controller"))
    assert not any("emptyDir" in volume for volume in pod["volumes"])


def test_the_deployment_of_its_own_has_both_probes_and_no_sidecar() -> None:
    """The overlay moves the stage out of the controller's Pod, where its readiness counts for itself alone."""
    manifests = render(DEPLOYMENT)
    container = stage_of(pod_of(find(manifests, "Deployment", "submitqueue-hookline")))
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    controller = pod_of(find(manifests, "Deployment", "submitqueue-controller"))
    assert [item["name"] for item in all_containers(controller)] == ["controller"]


@pytest.mark.parametrize("pod", stage_pods(), ids=["sidecar", "deployment"])
def test_probes_reach_the_port_that_the_settings_open(pod: Manifest) -> None:
    """The health server listens on every address, because the kubelet is not on loopback, at the port the probes name."""
    container = stage_of(pod)
    [port] = container["ports"]
    assert settings_document()["http"]["listen"] == f"0.0.0.0:{port['containerPort']}"
    probes = [container[name] for name in ("livenessProbe", "readinessProbe") if name in container]
    assert {probe["httpGet"]["port"] for probe in probes} == {port["name"]}


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_every_pod_is_restricted(directory: Path) -> None:
    """Every container meets the restricted Pod Security Standard, has a read-only root and no service-account token."""
    for deployment in [item for item in render(directory) if item["kind"] == "Deployment"]:
        pod = pod_of(deployment)
        assert pod["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        for container in all_containers(pod):
            context = pod["securityContext"] | container["securityContext"]
            assert context["runAsNonRoot"] is True
            assert context["runAsUser"] > 0
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("pod", stage_pods(), ids=["sidecar", "deployment"])
def test_the_stage_is_restricted_by_its_own_context(pod: Manifest) -> None:
    """The stage's container carries its whole security context, so it may be put into any Pod."""
    context = stage_of(pod)["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_every_container_asks_for_resources(directory: Path) -> None:
    """Every container requests cpu and memory and bounds its memory; none bounds cpu, which only slows a heartbeat."""
    for deployment in [item for item in render(directory) if item["kind"] == "Deployment"]:
        for container in all_containers(pod_of(deployment)):
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert container["resources"]["limits"].keys() == {"memory"}


@pytest.mark.parametrize("pod", stage_pods(), ids=["sidecar", "deployment"])
def test_the_drain_fits_into_the_grace_period(pod: Manifest) -> None:
    """Kubernetes waits longer than the stage drains, with room for the controller's own stop."""
    assert settings_document()["drain_seconds"] + 10 <= pod["terminationGracePeriodSeconds"]


@pytest.mark.parametrize("pod", stage_pods(), ids=["sidecar", "deployment"])
def test_settings_and_secrets_are_mounted_where_they_are_read(pod: Manifest) -> None:
    """The settings file is where the arguments say, and every file that the settings name lies in the Secret's mount."""
    container = stage_of(pod)
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"] if mount["readOnly"]}
    assert container["args"][:3] == ["run", "--config", f"{mounts['hookline-settings']}/hookline.toml"]
    [secret] = read_manifests(KUBERNETES / "secret.example.yaml")
    expected = {f"{mounts['hookline-secrets']}/{name}" for name in secret["stringData"]}
    assert set(files_named_in(settings_document())) == expected


def test_no_secret_is_written_in_the_settings() -> None:
    """A password, user name or signing secret is a file's name in the settings, never a value (P15)."""
    document = settings_document()
    assert all(isinstance(document["kafka"]["common"][key], dict) for key in ("sasl.username", "sasl.password"))
    assert all("secret" not in hook for hook in document["hooks"])


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_everything_carries_the_recommended_labels(directory: Path) -> None:
    """Every manifest has Kubernetes' recommended labels, and every selector matches its Pod's labels."""
    for manifest in render(directory):
        labels = manifest["metadata"]["labels"].keys()
        assert {f"app.kubernetes.io/{name}" for name in ("instance", "part-of", "managed-by")} <= labels
        if manifest["kind"] != "Deployment":
            continue
        assert {"app.kubernetes.io/name", "app.kubernetes.io/component"} <= labels
        selector = manifest["spec"]["selector"]["matchLabels"].items()
        assert selector <= manifest["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_every_volume_refers_to_something_known(directory: Path) -> None:
    """A volume names the generated ConfigMap or the documented Secret, so a misspelled optional one is found here."""
    manifests = render(directory)
    known = {item["metadata"]["name"] for item in manifests if item["kind"] == "ConfigMap"}
    known |= {item["metadata"]["name"] for item in read_manifests(KUBERNETES / "secret.example.yaml")}
    for deployment in [item for item in manifests if item["kind"] == "Deployment"]:
        for volume in pod_of(deployment).get("volumes", []):
            source = volume.get("configMap", {}).get("name") or volume.get("secret", {}).get("secretName")
            assert source in known


def files_named_in(value: object) -> list[str]:
    if isinstance(value, dict):
        if value.keys() == {"file"}:
            return [value["file"]]
        named = [item for key, item in value.items() if key.endswith("_file")]
        return named + [found for item in value.values() for found in files_named_in(item)]
    if isinstance(value, list):
        return [found for item in value for found in files_named_in(item)]
    return []
