"""Secrets of a stack at DigitalOcean: in the state they are encrypted, and nowhere else does anyone see them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from cloud_driver import CloudSandbox

from sandbox.cloud.account import account_token

# How often the arguments of all processes are looked at, in seconds.
_PAUSE = 0.2
_TOKEN = re.compile(r"\b(?:sandbox_v1|issued)_[0-9a-f]{64}\b")
_CIPHERTEXT = "ciphertext"


@dataclass(repr=False)
class Life:
    """What was to be seen in the life of a stack: texts by where they were, and what must be in none of them."""

    seen: dict[str, str] = field(default_factory=dict)
    secrets: set[str] = field(default_factory=set)
    exported: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)

    def where(self, secret: str) -> list[str]:
        return [place for place, text in self.seen.items() if secret in text]


@contextmanager
def arguments_of_processes() -> Iterator[set[str]]:
    """The command lines of all processes that run meanwhile."""
    found: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(_PAUSE):
            found.update(" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield found
    finally:
        over.set()
        watching.join()


def texts(folder: Path) -> dict[str, str]:
    """Every file below a folder, as text; but for the engine's plug-ins, which were there before any secret."""
    files = (file for file in folder.rglob("*") if file.is_file() and "plugins" not in file.parts)
    return {str(file): file.read_text(errors="replace") for file in files}


def secrets_of(sandbox: CloudSandbox) -> set[str]:
    """The account's token, those of kubeconfigs, the private keys of every cluster, the passphrase of the state."""
    home, found = sandbox.home, {account_token(sandbox.home), sandbox.workspace.passphrase.read_text().strip()}
    for cluster in sandbox.found("clusters"):
        found |= cluster["tokens"].keys()
        files = home.cluster(cluster["id"])
        found.add(yaml.safe_load(files.kubeconfig.read_text())["users"][0]["user"]["token"])
        # the first line of each key says of which kind it is
        found |= {key.read_text().splitlines()[2] for key in files.pki.glob("*.key")}
    return found | {token for text in texts(home.cloud).values() for token in _TOKEN.findall(text)}


@pytest.fixture(scope="module")
def life(cloud: Callable[..., CloudSandbox]) -> Life:
    """A stack that was brought up, changed, looked at and taken down."""
    sandbox = cloud("doks-h200")
    life = Life()
    engine, workspace = sandbox.engine, sandbox.workspace
    with arguments_of_processes() as arguments:
        life.seen["up"] = sandbox.up(kubeconfig={"mode": "raw"})
        life.seen["up with another kubeconfig"] = sandbox.up()
        life.seen["preview"] = sandbox.preview(region="atl1", acknowledge=["cluster-vpc", "cluster-doks"]).said
        life.seen["outputs"] = json.dumps(sandbox.outputs())
        life.shown = json.loads(engine.outputs(sandbox.stack_with(), show_secrets=True))
        life.seen["export"] = engine.runs.capture(["stack", "export", "--stack", sandbox.stack], workspace.stacks)
        life.exported = json.loads(life.seen["export"])
        life.secrets = secrets_of(sandbox)
        folders = [sandbox.home.pulumi, *sandbox.home.clusters.glob("*/logs")]
        kept = {name: text for folder in folders for name, text in texts(folder).items()}
        del kept[str(workspace.passphrase)]
        life.seen |= kept
        life.seen["destroy"] = sandbox.destroy()
        life.seen |= {f"{name} after destroy": text for name, text in texts(workspace.engine_home).items()}
    life.seen["arguments of processes"] = "\n".join(arguments)
    return life


def test_there_is_something_to_hide(life: Life) -> None:
    assert len(life.secrets) >= 6
    assert yaml.safe_load(life.shown["kubeconfig"])["users"][0]["user"]["token"] in life.secrets
    assert "sandbox.cloud digitalocean" in life.seen["arguments of processes"]
    for file in ("kube-apiserver.log", "stacks/gpu-fabric/doks-h200.json", "Pulumi.doks-h200.yaml"):
        assert any(place.endswith(file) for place in life.seen)


def test_no_output_file_log_or_argument_has_a_secret(life: Life) -> None:
    assert {place for secret in life.secrets for place in life.where(secret)} == set()


def test_the_masked_outputs_do_not_show_the_kubeconfig(life: Life) -> None:
    assert json.loads(life.seen["outputs"])["kubeconfig"] == "[secret]"


def test_the_state_keeps_tokens_and_kubeconfigs_as_ciphertext(life: Life) -> None:
    entries = {entry["urn"].rpartition("::")[2]: entry for entry in life.exported["deployment"]["resources"]}
    for name, part, key in (
        ("cluster-digitalocean", "inputs", "token"),
        ("cluster-digitalocean", "outputs", "token"),
        ("cluster-doks", "outputs", "kubeConfigs"),
        ("cluster-kubernetes", "inputs", "kubeconfig"),
        ("cluster-kubernetes", "outputs", "kubeconfig"),
        ("cluster", "outputs", "kubeconfig"),
        ("gpu-fabric-doks-h200", "outputs", "kubeconfig"),
    ):
        assert _CIPHERTEXT in entries[name][part][key], (name, part, key)
