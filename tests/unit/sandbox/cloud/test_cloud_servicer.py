"""The plug-in itself: values on the wire, secrets, the account's token, the store, and the process."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from cloud_engine import TOKENS, Engine, Failed, urn
from google.protobuf import empty_pb2
from pulumi.runtime import proto

from sandbox.cloud.account import account_token
from sandbox.cloud.store import Store
from sandbox.cloud.wire import UNKNOWN, Secret, read_properties, write_properties
from sandbox.home import SandboxHome, project_root

CLUSTER = {
    "name": "one",
    "region": "nyc2",
    "version": "1.36.1-do.0",
    "nodePool": {"name": "system", "size": "s-4vcpu-8gb", "nodeCount": 1},
}
SECRET_KEY = "4dabf18193072939515e22adb298388d"


def test_values_come_back_as_they_went_out() -> None:
    values: dict[str, Any] = {
        "text": "a",
        "number": 3,
        "fraction": 0.5,
        "flag": False,
        "list": [1, {"deep": UNKNOWN}],
        "nothing": [None],
        "unknown": UNKNOWN,
    }
    assert read_properties(write_properties(values)) == values


def test_a_secret_is_wrapped_on_the_wire_and_unwrapped_when_read() -> None:
    struct = write_properties({"token": Secret("value")})
    assert SECRET_KEY in struct.fields["token"].struct_value.fields
    assert read_properties(struct) == {"token": "value"}
    assert "value" not in repr(Secret("value"))


def test_the_plugin_wants_no_secrets_so_that_the_engine_marks_them(engine: Engine) -> None:
    answer = engine.stub.Handshake(proto.ProviderHandshakeRequest())
    configured = engine.stub.Configure(
        proto.ConfigureRequest(args=write_properties({"token": engine.api.account_token}))
    )
    assert not answer.accept_secrets
    assert not configured.acceptSecrets


def test_the_kubeconfig_is_a_secret_in_every_answer(engine: Engine) -> None:
    made = engine.up("KubernetesCluster", "one", CLUSTER)
    properties = write_properties(made.outputs)
    news = write_properties({**CLUSTER, "tags": ["team"]})
    where = {"id": made.id, "urn": urn("KubernetesCluster", "one")}
    read = engine.stub.Read(proto.ReadRequest(properties=properties, inputs=write_properties(CLUSTER), **where))
    update = engine.stub.Update(proto.UpdateRequest(olds=properties, news=news, **where))
    function = "digitalocean:index/getKubernetesCluster:getKubernetesCluster"
    asked = engine.stub.Invoke(proto.InvokeRequest(tok=function, args=write_properties({"name": "one"})))
    for answer in (read.properties, update.properties, getattr(asked, "return")):
        assert SECRET_KEY in answer.fields["kubeConfigs"].struct_value.fields


def test_no_token_but_the_sandboxs_own_is_taken(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIGITALOCEAN_TOKEN", raising=False)
    monkeypatch.delenv("DIGITALOCEAN_ACCESS_TOKEN", raising=False)
    for given in ({}, {"token": "dop_v1_of_somebody"}):
        with pytest.raises(Failed, match="takes no other token than its own") as refused:
            engine.configure(**given)
        assert "somebody" not in str(refused.value)
    engine.configure(token=engine.api.account_token)
    monkeypatch.setenv("DIGITALOCEAN_ACCESS_TOKEN", engine.api.account_token)
    engine.configure()


def test_the_accounts_token_stays_the_same_and_is_private(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        tokens = set(threads.map(lambda _: account_token(home), range(16)))
    assert len(tokens) == 1
    assert stat.S_IMODE((home.cloud / "token").stat().st_mode) == 0o600


def test_what_the_cloud_keeps_is_private(engine: Engine, tmp_path: Path) -> None:
    engine.up("KubernetesCluster", "one", CLUSTER)
    kept = [file for file in tmp_path.rglob("*.json") if file.is_file()]
    assert kept
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}


def test_an_update_that_times_out_keeps_the_resource_and_what_became_of_it(engine: Engine) -> None:
    made = engine.up("KubernetesCluster", "one", CLUSTER)
    pool = made.outputs["nodePool"]["id"]
    engine.api.change("pools", pool, lambda record: record.update(stuck=True))
    larger = {**CLUSTER, "nodePool": {**CLUSTER["nodePool"], "nodeCount": 2}}  # type: ignore[dict-item]
    with pytest.raises(Failed, match="Timeout waiting") as failed:
        engine.update(made, larger)
    assert failed.value.kept is not None
    assert failed.value.kept["nodePool"]["actualNodeCount"] == 2


def test_generated_names_stay_for_the_life_of_a_resource(engine: Engine) -> None:
    first = engine.check("Vpc", "net", {"region": "nyc2"})
    assert engine.check("Vpc", "net", {"region": "nyc2"}, first)["name"] == first["name"]


def test_a_type_that_is_not_played_is_named(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOKENS, "Droplet", "digitalocean:index/droplet:Droplet")
    with pytest.raises(Failed, match="no resources of type digitalocean:index/droplet:Droplet"):
        engine.up("Droplet", "one", {})


def test_many_resources_are_made_at_a_time(engine: Engine) -> None:
    with ThreadPoolExecutor(16) as threads:
        made = list(threads.map(lambda n: engine.up("Vpc", f"v{n}", {"region": "nyc2"}), range(40)))
    assert len({vpc.outputs["ipRange"] for vpc in made}) == 40


def test_two_processes_that_change_a_record_lose_nothing(tmp_path: Path) -> None:
    Store(tmp_path).add("counters", {"id": "one", "count": 0})
    program = (
        "import sys; from pathlib import Path; from sandbox.cloud.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "for _ in range(100):\n"
        "    with store.lock():\n"
        "        record = store.get('counters', 'one')\n"
        "        store.put('counters', {**record, 'count': record['count'] + 1})\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    for process in [subprocess.Popen(command, cwd=project_root()) for _ in range(3)]:
        assert process.wait(timeout=60) == 0
    record = Store(tmp_path).get("counters", "one")
    assert record is not None
    assert record["count"] == 300


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_says_its_port_answers_and_ends_when_told_to(tmp_path: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "GPU_FABRIC_SANDBOX": str(tmp_path)}
    command = [sys.executable, "-m", "sandbox.cloud", "digitalocean"]
    process = subprocess.Popen(command, cwd=project_root(), env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = proto.ResourceProviderStub(channel)
            assert stub.GetPluginInfo(empty_pb2.Empty(), timeout=20).version == "4.84.1"
            token = account_token(SandboxHome(tmp_path))
            stub.Configure(proto.ConfigureRequest(args=write_properties({"token": token})), timeout=20)
        process.send_signal(number)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()


def test_the_names_on_the_wire_are_those_of_the_providers_package() -> None:
    code = (
        "import json; from pulumi_digitalocean import kubernetes_cluster as c, kubernetes_node_pool as p, vpc as v,"
        " project as j, project_resources as r\n"
        "from pulumi._types import input_type_types as _\n"
        "from pulumi._types import _PULUMI_NAME as name\n"
        "def names(cls):\n"
        "    return sorted(getattr(m.fget, name) for m in vars(cls).values() if isinstance(m, property)"
        " and hasattr(m.fget, name))\n"
        "print(json.dumps({c.__name__: names(c) for c in (c.KubernetesCluster, p.KubernetesNodePool, v.Vpc,"
        " j.Project, r.ProjectResources)}))\n"
    )
    known = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    from sandbox.cloud.digitalocean.provider import DigitalOcean

    played = DigitalOcean.__dict__["resources"].func(DigitalOcean(None))  # type: ignore[arg-type]
    assert {token.rpartition(":")[2]: sorted(kind.fields) for token, kind in played.items()} == known
