"""What a controller's process gets of its container: arguments, variables, files, settings."""

import base64
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.controllers.container import Container, NotYetError, container_ports
from sandbox.controllers.table import ControllerRow, binaries_for, controllers
from sandbox.kubernetes_api import Object
from sandbox.stages import stages
from sandbox.toolchain.recipes import recipes

ROW = ControllerRow(
    name="queue",
    pods="app=queue",
    container="manager",
    binary="queue",
    ready="http://127.0.0.1:{8081}/readyz",
    file="/config.yaml",
    settings={
        "health.address": "127.0.0.1:{8081}",
        "webhook.port": "{9443}",
        "webhook.certDir": "{/certs}",
        "leader.namespace": "{namespace}",
        "own.enable": False,
    },
    arguments=("--kubeconfig={kubeconfig}", "--port={9443}"),
    environment={"HEALTH": "{8081}"},
    releases={"v1": "queue-1"},
)
CONFIG = "health: {address: ':8081', other: 1}\nown: {enable: true, service: s}\nlist: [1, 2]\n"


def pod(**container: Any) -> Object:
    mounts = [
        {"name": "config", "mountPath": "/config.yaml", "subPath": "config.yaml"},
        {"name": "cert", "mountPath": "/certs"},
        {"name": "scratch", "mountPath": "/certs-of-others"},
    ]
    volumes = [
        {"name": "config", "configMap": {"name": "settings"}},
        {"name": "cert", "secret": {"secretName": "cert"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    manager = {"name": "manager", "volumeMounts": mounts, **container}
    return {
        "metadata": {"name": "queue-1", "namespace": "queues"},
        "spec": {"nodeName": "cpu-0", "containers": [{"name": "other"}, manager], "volumes": volumes},
    }


class Cluster:
    """The ConfigMaps and Secrets that a kubelet would read."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Object] = {
            ("configmaps", "settings"): {"data": {"config.yaml": CONFIG}},
            ("secrets", "cert"): {},
        }

    def read(self, plural: str, name: str) -> Object | None:
        return self.objects.get((plural, name))

    def certificate(self, **files: str) -> None:
        data = {name.replace("_", "."): base64.b64encode(text.encode()).decode() for name, text in files.items()}
        self.objects["secrets", "cert"] = {"data": data}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def container(folder: Path, **fields: Any) -> Container:
    return Container(ROW, pod(**fields), folder, {8081: 20001, 9443: 20002}, folder / "kubeconfig")


def test_the_configuration_file_is_the_maps_with_the_machines_ports_and_folders(
    tmp_path: Path, cluster: Cluster
) -> None:
    container(tmp_path).write_files(cluster.read, tmp_path)
    assert yaml.safe_load((tmp_path / "root/config.yaml").read_text()) == {
        "health": {"address": "127.0.0.1:20001", "other": 1},
        "own": {"enable": False, "service": "s"},
        "list": [1, 2],
        "webhook": {"port": 20002, "certDir": str(tmp_path / "root/certs")},
        "leader": {"namespace": "queues"},
    }


def test_a_secrets_files_come_change_and_go_with_it_and_nobody_else_reads_them(
    tmp_path: Path, cluster: Cluster
) -> None:
    made = container(tmp_path)
    made.write_files(cluster.read, tmp_path)
    assert list((tmp_path / "root/certs").iterdir()) == []
    cluster.certificate(tls_crt="one", tls_key="secret")
    made.write_files(cluster.read, tmp_path)
    assert stat.S_IMODE((tmp_path / "root/certs/tls.key").stat().st_mode) == 0o600
    cluster.certificate(tls_crt="two")
    made.write_files(cluster.read, tmp_path)
    assert {file.name: file.read_text() for file in (tmp_path / "root/certs").iterdir()} == {"tls.crt": "two"}


@pytest.mark.parametrize(
    ("missing", "there", "said"),
    [
        (("configmaps", "settings"), None, "ConfigMap settings does not exist"),
        (("secrets", "cert"), None, "Secret cert does not"),
        (("configmaps", "settings"), {"data": {"else.yaml": ""}}, r"volume config has no config\.yaml"),
    ],
)
def test_a_container_waits_for_the_objects_of_its_volumes(
    tmp_path: Path, cluster: Cluster, missing: tuple[str, str], there: Object | None, said: str
) -> None:
    del cluster.objects[missing]
    if there is not None:
        cluster.objects[missing] = there
    with pytest.raises(NotYetError, match=said):
        container(tmp_path).write_files(cluster.read, tmp_path)


def test_a_projected_volume_has_the_keys_that_it_names_of_all_its_sources(tmp_path: Path, cluster: Cluster) -> None:
    cluster.certificate(tls_crt="one", tls_key="secret", ca_crt="authority")
    made = container(tmp_path)
    sources = [
        {"secret": {"name": "cert", "items": [{"key": "tls.crt", "path": "server.crt"}]}},
        {"configMap": {"name": "settings"}},
        {"secret": {"name": "none", "optional": True}},
    ]
    made.pod["spec"]["volumes"][1] = {"name": "cert", "projected": {"sources": sources}}
    made.write_files(cluster.read, tmp_path)
    assert sorted(file.name for file in (tmp_path / "root/certs").iterdir()) == ["config.yaml", "server.crt"]


def test_variables_have_the_pods_fields_and_no_more_of_this_machine_than_is_needed(
    tmp_path: Path, cluster: Cluster
) -> None:
    fields = {"NS": "metadata.namespace", "POD": "metadata.name", "NODE": "spec.nodeName"}
    env: list[Any] = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
    secret = {"name": "CA", "valueFrom": {"secretKeyRef": {"name": "cert", "key": "ca.crt"}}}
    made = container(tmp_path, env=[*env, {"name": "FILE", "value": "/certs/a"}, secret])
    with pytest.raises(NotYetError, match=r"variable CA: secrets cert with ca\.crt does not exist"):
        made.environment(cluster.read)
    cluster.certificate(ca_crt="authority")
    assert made.environment(cluster.read) == {
        **{"NS": "queues", "POD": "queue-1", "NODE": "cpu-0", "CA": "authority", "HEALTH": "20001"},
        **{"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "kubeconfig"), "FILE": str(tmp_path / "root/certs/a")},
    }


def test_a_container_is_ready_where_its_row_says_and_has_a_port_for_each_that_it_names(tmp_path: Path) -> None:
    assert container(tmp_path).ready_url() == "http://127.0.0.1:20001/readyz"
    row = ROW.model_copy(update={"ready": None})
    assert Container(row, pod(), tmp_path, {}, tmp_path / "kubeconfig").ready_url() is None
    assert container_ports(row) == [8081, 9443]


def test_every_controller_is_built_and_its_pods_are_ready_by_its_own_word_alone() -> None:
    rows = controllers()
    built = {name for row in rows for name in (row.binary, *row.releases.values())}
    assert built == {name for name, recipe in recipes().items() if recipe.group == "controllers"}
    runs = next(stage for stage in stages() if stage["metadata"]["name"] == "pod-running")
    (step,) = runs["spec"]["steps"]
    held = re.findall(
        r'\$held = or \$held \(eq \(index \$labels "([^"]+)" .*?\) "([^"]+)"\)', step["patch"]["template"]
    )
    assert {row.pods for row in rows if not row.completes} == {f"{label}={name}" for label, name in held}


def test_only_what_is_installed_is_built() -> None:
    volcano = ["volcano-admission", "volcano-controllers", "volcano-scheduler"]
    assert binaries_for(["gpu-operator", "network-operator", "kueue", "volcano"]) == ["kueue", *volcano]


def test_a_release_of_its_own_is_built_where_the_image_has_that_tag(tmp_path: Path) -> None:
    assert container(tmp_path, image="registry:5000/queue:v1").build == "queue-1"
    assert container(tmp_path, image="registry:5000/queue").build == "queue"
