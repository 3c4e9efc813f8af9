"""The plug-ins of the simulated clouds: whose account they take, what is secret and private, and their store."""

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
from cloud_engine import TOKENS, Engine, Failed, Resource, urn
from digitalocean_inputs import INPUTS
from google.protobuf import empty_pb2
from oracle_engine import COMPARTMENT, OracleEngine
from pulumi.runtime import proto

from sandbox.cloud.account import account_token
from sandbox.cloud.oci import command
from sandbox.cloud.oci.credentials import credentials, environment
from sandbox.cloud.store import Store
from sandbox.cloud.wire import UNKNOWN, Secret, read_properties, write_properties
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, project_root

SECRET_KEY = "4dabf18193072939515e22adb298388d"


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_values_come_back_as_they_went_out_and_secrets_are_wrapped() -> None:
    values: dict[str, Any] = {
        **{"text": "a", "number": 3, "fraction": 0.5, "flag": False},
        **{"list": [1, {"deep": UNKNOWN}], "nothing": [None], "unknown": UNKNOWN},
    }
    struct = write_properties({**values, "token": Secret("value")})
    assert SECRET_KEY in struct.fields["token"].struct_value.fields
    assert read_properties(struct) == {**values, "token": "value"}
    assert "value" not in repr(Secret("value"))


def test_the_plugin_wants_no_secrets_so_that_the_engine_marks_them(engine: Engine) -> None:
    answer = engine.stub.Handshake(proto.ProviderHandshakeRequest())
    token = write_properties({"token": engine.api.account_token})
    assert not answer.accept_secrets
    assert not engine.stub.Configure(proto.ConfigureRequest(args=token)).acceptSecrets


def test_the_kubeconfig_is_a_secret_in_every_answer(engine: Engine, cluster: Resource) -> None:
    properties = write_properties(cluster.outputs)
    news = write_properties({**INPUTS, "tags": ["team"]})
    where = {"id": cluster.id, "urn": urn("KubernetesCluster", "one")}
    read = engine.stub.Read(proto.ReadRequest(properties=properties, inputs=write_properties(INPUTS), **where))
    update = engine.stub.Update(proto.UpdateRequest(olds=properties, news=news, **where))
    function = "digitalocean:index/getKubernetesCluster:getKubernetesCluster"
    asked = engine.stub.Invoke(proto.InvokeRequest(tok=function, args=write_properties({"name": "one"})))
    for answer in (read.properties, update.properties, getattr(asked, "return")):
        assert SECRET_KEY in answer.fields["kubeConfigs"].struct_value.fields


def test_digitalocean_takes_no_token_but_the_sandboxs_own(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIGITALOCEAN_TOKEN", raising=False)
    monkeypatch.delenv("DIGITALOCEAN_ACCESS_TOKEN", raising=False)
    for given in ({}, {"token": "dop_v1_of_somebody"}):
        with pytest.raises(Failed, match="takes no other token than its own") as refused:
            engine.configure(**given)
        assert "somebody" not in str(refused.value)
    engine.configure(token=engine.api.account_token)
    monkeypatch.setenv("DIGITALOCEAN_ACCESS_TOKEN", engine.api.account_token)
    engine.configure()


def settings(oracle: OracleEngine) -> dict[str, str]:
    account = oracle.api.account
    names = {"tenancyOcid": account.tenancy, "userOcid": account.user, "fingerprint": account.fingerprint}
    return {**names, "privateKey": account.key_file.read_text(), "region": "eu-frankfurt-1"}


def test_oracle_takes_the_sandboxs_account_and_works_in_its_region(oracle: OracleEngine) -> None:
    oracle.configure(**settings(oracle))
    vcn = oracle.up("Vcn", "one", {"compartmentId": COMPARTMENT, "cidrBlocks": ["10.140.0.0/16"]})
    assert vcn.id.startswith("ocid1.vcn.oc1.fra.")
    assert "EU-FRANKFURT-1-AD-1" in oracle.domain
    with pytest.raises(Failed, match="there is no region moon-1"):
        oracle.configure(**{**settings(oracle), "region": "moon-1"})


@pytest.mark.parametrize(
    "change",
    [
        {"tenancyOcid": "ocid1.tenancy.oc1..real"},
        {"userOcid": "ocid1.user.oc1..real"},
        {"fingerprint": "00:11"},
        {"privateKey": "-----BEGIN RSA PRIVATE KEY-----\nreal\n"},
        {"privateKey": "", "privateKeyPath": "/etc/hostname"},
        {"auth": "InstancePrincipal"},
    ],
)
def test_oracle_takes_no_other_account(oracle: OracleEngine, change: dict[str, str]) -> None:
    with pytest.raises(Failed, match="takes no other account than its own") as refused:
        oracle.configure(**{**settings(oracle), **change})
    assert "real" not in str(refused.value).replace("real one", "")


def test_accounts_stay_the_same_and_are_private(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: account_token(home), range(16)))) == 1
    account = credentials(home)
    assert account == credentials(home)
    assert mode(account.key_file) == mode(home.cloud / "token") == 0o600
    secret = account.key_file.read_text().strip()
    assert not any(secret in value for value in environment(home).values())


def test_the_stand_in_for_the_command_oci_knows_one_command_and_one_account(tmp_path: Path) -> None:
    home = SandboxHome(tmp_path)
    arguments = ["ce", "cluster", "generate-token", "--cluster-id", "one", "--region", "us-ashburn-1"]
    with pytest.raises(SandboxError, match="does not name the configuration"):
        command.answer(arguments, {}, home)
    with pytest.raises(SandboxError, match="knows no other command"):
        command.answer(["iam", "user", "list"], environment(home), home)
    with pytest.raises(SandboxError, match="there is no simulated cluster"):
        command.answer(arguments, environment(home), home)


def test_a_type_that_is_not_played_is_named(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOKENS, "Droplet", "digitalocean:index/droplet:Droplet")
    with pytest.raises(Failed, match="no resources of type digitalocean:index/droplet:Droplet"):
        engine.up("Droplet", "one", {})


def test_many_resources_are_made_at_a_time_in_private_files_and_keep_their_generated_names(
    engine: Engine, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(16) as threads:
        made = list(threads.map(lambda n: engine.up("Vpc", f"v{n}", {"region": "nyc2"}), range(40)))
    assert len({vpc.outputs["ipRange"] for vpc in made}) == 40
    assert engine.check("Vpc", "v0", {"region": "nyc2"}, made[0].inputs)["name"] == made[0].inputs["name"]
    assert {mode(file) for file in tmp_path.rglob("*.json")} == {0o600}


def test_processes_that_change_a_record_at_once_lose_nothing(tmp_path: Path) -> None:
    Store(tmp_path).add("counters", {"id": "one", "count": 0})
    program = (
        "import sys; from pathlib import Path; from sandbox.cloud.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "for _ in range(100):\n"
        "    with store.lock():\n"
        "        record = store.get('counters', 'one')\n"
        "        store.put('counters', {**record, 'count': record['count'] + 1})\n"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path)]
    for process in [subprocess.Popen(arguments, cwd=project_root()) for _ in range(3)]:
        assert process.wait() == 0
    assert [record["count"] for record in Store(tmp_path).list("counters")] == [300]


@pytest.mark.parametrize(("cloud", "number"), [("digitalocean", signal.SIGTERM), ("oci", signal.SIGINT)])
def test_a_plug_ins_process_says_its_port_answers_and_ends_when_told_to(
    tmp_path: Path, cloud: str, number: signal.Signals
) -> None:
    variables = {**os.environ, "GPU_FABRIC_SANDBOX": str(tmp_path)}
    arguments = [sys.executable, "-m", "sandbox.cloud", cloud]
    process = subprocess.Popen(arguments, cwd=project_root(), env=variables, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            assert proto.ResourceProviderStub(channel).GetPluginInfo(empty_pb2.Empty(), timeout=20).version
        process.send_signal(number)
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
