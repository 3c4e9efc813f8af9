"""Secrets in plain text are refused wherever a stack file holds them, and no message, report or log repeats them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from changes import changed
from committed_stacks import folder_of
from stack_plans import stack_plan
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.spec.load import read_document, validate

SECRET = "s3cr3t"
KUBECONFIG = f"""\
apiVersion: v1
kind: Config
clusters: [{{name: a, cluster: {{server: "https://a.example"}}}}]
users:
  - name: a
    user: {{token: {SECRET}}}
"""
TOKEN = "dop_v1_" + "0123456789abcdef" * 4


def findings(stack: str, changes: dict[str, Any]) -> list[tuple[str, str]]:
    """Rule and place of what is found, none of which repeats the secret."""
    _, found = validate(changed(read_document(stack, folder_of(stack)), changes))
    assert not any(SECRET in str(entry) or TOKEN in str(entry) for entry in found)
    return [(entry.id, entry.path) for entry in found]


def written(folder: Path, config: dict[str, Any]) -> Path:
    cluster = {
        "provider": "existing",
        "kubeconfig": "kubeconfig",
        "pools": [{"name": "gpu", "shape": "BM.GPU4.8", "nodes": 2}],
    }
    whole = {
        "gpu-fabric:cluster": cluster,
        "gpu-fabric:fabric": {"addressing": {"supernet": "192.168.0.0/16"}},
        **config,
    }
    (folder / "Pulumi.lab.yaml").write_text(yaml.safe_dump({"config": whole}), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "text",
    [
        KUBECONFIG,
        json.dumps(yaml.safe_load(KUBECONFIG)),
        base64.b64encode(KUBECONFIG.encode() * 3).decode(),
        f"users: [{{user: {{token: {SECRET}}}}}]",
        KUBECONFIG.replace("\n", "\\n"),
        f"a\0{SECRET}",
        f"/home/{SECRET}\n",
    ],
    ids=["yaml", "json", "base64", "one line", "escaped", "nul", "line end"],
)
def test_a_kubeconfigs_text_in_place_of_its_path_is_refused_and_not_printed(text: str) -> None:
    found = findings("dev", {"cluster.kubeconfig": text})

    assert ("SPC002", "gpu-fabric:cluster.kubeconfig") in found


def test_the_command_line_does_not_print_it_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {
        "provider": "existing",
        "kubeconfig": KUBECONFIG,
        "pools": [{"name": "gpu", "shape": "BM.GPU4.8", "nodes": 2}],
    }
    written(tmp_path, {"gpu-fabric:cluster": cluster})
    monkeypatch.chdir(tmp_path)
    for command in ("plan", "review"):
        run = CliRunner().invoke(app, [command, "-s", "lab"])

        assert run.exit_code != 0
        assert SECRET not in run.output


@pytest.mark.parametrize(
    "address",
    [
        f"https://user:{SECRET}@mirror.example/charts",
        f"oci://{SECRET}@mirror.example",
        f"https://mirror.example/?key={SECRET}",
    ],
)
def test_charts_come_from_addresses_without_a_login(address: str) -> None:
    assert findings("dev", {"software.charts": address}) == [("SPC002", "gpu-fabric:software.charts")]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("digitalocean:token", SECRET),
        ("digitalocean:spacesSecretKey", SECRET),
        ("oci:privateKey", SECRET),
        ("oci:privateKeyPassword", SECRET),
        ("kubernetes:kubeconfig", KUBECONFIG),
        ("other:anything", {"deep": [TOKEN]}),
    ],
)
def test_plain_secrets_of_providers_are_refused_by_their_key(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as refused:
        stack_plan("lab", written(tmp_path, {key: value}))

    assert [(entry.id, entry.path) for entry in refused.value.findings] == [("SPC006", key)]
    assert f"pulumi config set --secret {key}" in str(refused.value)
    assert SECRET not in str(refused.value)
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize("key", ["digitalocean:token", "oci:privateKey"])
def test_sealed_secrets_pass(tmp_path: Path, key: str) -> None:
    stack_plan("lab", written(tmp_path, {key: {"secure": "v1:abc"}, "oci:privateKeyPath": "~/.oci/key.pem"}))


def test_a_plain_kubeconfig_under_the_key_of_the_secret_is_refused() -> None:
    named = {"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access"}

    assert findings("dev", {**named, "access": KUBECONFIG}) == [("SPC006", "gpu-fabric:access")]
    assert findings("dev", {**named, "access": {"secure": "v1:abc"}}) == []


def test_a_plain_token_of_a_cluster_is_refused() -> None:
    changes = {"cluster.kubeconfig": {"mode": "token", "tokenSecret": "deployer"}, "deployer": SECRET}

    assert findings("oke-h100", changes) == [("SPC006", "gpu-fabric:deployer")]


@pytest.mark.parametrize(
    ("place", "value", "at"),
    [
        ("software.gpuOperator.values", {"a": [{"b": TOKEN}]}, "software.gpuOperator.values.a[0].b"),
        ("fabric.nccl.settings", {"NCCL_DEBUG_FILE": TOKEN}, "fabric.nccl.settings.NCCL_DEBUG_FILE"),
        ("verification.trigger", "ghp_" + "a" * 36, "verification.trigger"),
    ],
)
def test_what_looks_like_a_credential_is_refused_wherever_it_is(place: str, value: Any, at: str) -> None:
    assert ("SPC006", f"gpu-fabric:{at}") in findings("dev", {place: value})
