"""The scripts that machines on Oracle's cloud run at their first start, run by Bash below a folder."""

import base64
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpu_fabric.plan.clouds.oke.boot import BootScript, boot_script, encoded, user_data

HOST, AUTHORITY = "10.140.0.4", base64.b64encode(b"-----BEGIN CERTIFICATE-----\n").decode()
JOIN = {"MODE": "self-managed", "KUBELET_EXTRA_ARGS": "", "BEFORE_JOIN": "", "AFTER_JOIN": ""}

# Answers from a file per key; `failures` counts down before it answers at all.
_CURL = r"""
[[ "$*" == *"Authorization: Bearer Oracle"* && "$*" == *"http://169.254.169.254/opc/v2/instance/metadata/"* ]] || exit 9
left=$(<"$NODE/failures")
((left == 0)) || { echo $((left - 1)) >"$NODE/failures"; exit 22; }
cat "$NODE/metadata/${!###*/}" 2>/dev/null || exit 22
"""
# Fails as often as `refusals` says, as while the certificate is not there yet.
_TOLD = r"""
printf '%s\n' "${0##*/} $*" >>"$NODE/calls"
left=$(<"$NODE/refusals")
((left == 0)) || { echo $((left - 1)) >"$NODE/refusals"; exit 1; }
"""
_SLEEP = 'echo "sleep $*" >>"$NODE/calls"\n'
_SYSTEMCTL = 'echo "systemctl $*" >>"$NODE/calls"\n'


@dataclass
class Machine:
    """A machine made of files, with an image's programs that only tell what they are called with."""

    folder: Path

    def __post_init__(self) -> None:
        for name in ("bin", "metadata", "root"):
            (self.folder / name).mkdir()
        for name in ("failures", "refusals"):
            self.write(name, "0")
        for name, text in (("curl", _CURL), ("sleep", _SLEEP), ("systemctl", _SYSTEMCTL), ("chown", _SYSTEMCTL)):
            self.program(f"bin/{name}", text)
        self.metadata(apiserver_host=HOST, cluster_ca_cert=AUTHORITY)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def program(self, name: str, text: str = _TOLD) -> None:
        self.write(name, f"#!/bin/bash\n{text}")
        (self.folder / name).chmod(0o755)

    def metadata(self, **keys: str) -> None:
        for key, text in keys.items():
            self.write(f"metadata/{key}", text)

    def run(self, name: BootScript, **settings: str) -> subprocess.CompletedProcess[str]:
        text = boot_script(name, settings)
        environment = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "NODE": str(self.folder),
            "ROOT": str(self.folder / "root"),
            "TRIES": "4",
        }
        command = ["bash", "-s"]
        return subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)

    def calls(self, *programs: str) -> list[str]:
        path = self.folder / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line for line in lines if line.split()[0] in programs]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_ubuntu_image_joins_by_its_command(machine: Machine) -> None:
    machine.program("bin/oke")

    result = machine.run("join", **JOIN)

    assert (result.returncode, result.stderr) == (0, "")
    assert machine.calls("oke") == [f"oke bootstrap --apiserver-host {HOST} --ca {AUTHORITY}"]
    assert result.stdout.splitlines()[-1] == "gpu-fabric: joined"


def test_an_oracle_linux_image_joins_by_its_installer(machine: Machine) -> None:
    machine.program("root/etc/oke/oke-install.sh")

    assert machine.run("join", **JOIN).returncode == 0
    assert machine.calls("oke-install.sh") == [
        f"oke-install.sh --apiserver-endpoint {HOST} --kubelet-ca-cert {AUTHORITY}"
    ]


def test_an_image_with_a_service_alone_has_it_started(machine: Machine) -> None:
    machine.write("root/etc/systemd/system/oke-init.service", "[Service]\n")

    assert machine.run("join", **JOIN).returncode == 0
    assert machine.calls("systemctl")[-1] == "systemctl --no-block enable --now oke-init.service"


@pytest.mark.parametrize("program", ["bin/oke", "root/etc/oke/oke-install.sh"])
def test_further_arguments_of_the_kubelet_stay_one_word(machine: Machine, program: str) -> None:
    machine.program(program, 'printf "<%s>\\n" "$@" >"$NODE/words"\n')
    arguments = "--register-with-taints=a=b:NoSchedule --max-pods=64"

    assert machine.run("join", **{**JOIN, "KUBELET_EXTRA_ARGS": arguments}).returncode == 0
    assert machine.read("words").splitlines()[-2:] == ["<--kubelet-extra-args>", f"<{arguments}>"]


def test_the_api_servers_address_and_authority_lie_where_the_image_looks_for_them(machine: Machine) -> None:
    machine.program("bin/oke")

    machine.run("join", **JOIN)

    assert machine.read("root/etc/oke/oke-apiserver") == HOST
    assert machine.read("root/etc/kubernetes/ca.crt") == "-----BEGIN CERTIFICATE-----\n"


def test_a_managed_node_runs_what_its_pool_brings(machine: Machine) -> None:
    machine.metadata(oke_init_script=base64.b64encode(b'echo "pool $*" >>"$NODE/calls"\n').decode())
    machine.program("bin/oke")

    assert machine.run("join", **{**JOIN, "MODE": "managed", "KUBELET_EXTRA_ARGS": "--v=2"}).returncode == 0
    assert machine.calls("pool", "oke") == ["pool --kubelet-extra-args --v=2"]


def test_joining_is_tried_again_until_it_works(machine: Machine) -> None:
    machine.program("bin/oke")
    machine.write("refusals", "2")

    result = machine.run("join", **JOIN)

    assert result.returncode == 0
    assert len(machine.calls("oke")) == 3
    assert machine.calls("sleep") == ["sleep 15", "sleep 15"]
    assert "try 2 of 4" in result.stdout


def test_a_node_that_never_joins_ends_with_a_failure_and_does_nothing_afterwards(machine: Machine) -> None:
    machine.program("bin/oke")
    machine.write("refusals", "99")

    result = machine.run("join", **{**JOIN, "AFTER_JOIN": encoded('touch "$NODE/after"')})

    assert result.returncode == 1
    assert len(machine.calls("oke")) == 4
    assert not (machine.folder / "after").exists()


def test_metadata_that_come_late_are_waited_for(machine: Machine) -> None:
    machine.program("bin/oke")
    machine.write("failures", "3")

    assert machine.run("join", **JOIN).returncode == 0


@pytest.mark.parametrize("key", ["apiserver_host", "cluster_ca_cert"])
def test_a_machine_without_its_clusters_metadata_says_so_and_joins_nothing(machine: Machine, key: str) -> None:
    machine.program("bin/oke")
    machine.metadata(**{key: ""})

    result = machine.run("join", **JOIN)

    assert result.returncode == 1
    assert "no address or authority of the API server" in result.stdout
    assert machine.calls("oke") == []


def test_an_image_that_cannot_join_says_so(machine: Machine) -> None:
    result = machine.run("join", **JOIN)

    assert result.returncode == 1
    assert "neither the image nor the metadata has what joins" in result.stdout


def test_what_starts_pods_may_lock_memory_without_limit(machine: Machine) -> None:
    machine.program("bin/oke")

    machine.run("join", **JOIN)

    for service in ("containerd", "crio", "kubelet"):
        drop_in = machine.read(f"root/etc/systemd/system/{service}.service.d/90-gpu-fabric.conf")
        assert drop_in == "[Service]\nLimitMEMLOCK=infinity\n"
    assert "systemctl daemon-reload" in machine.calls("systemctl")


def test_the_root_file_system_is_grown_where_the_image_has_the_tool(machine: Machine) -> None:
    machine.program("bin/oke")
    machine.program("root/usr/libexec/oci-growfs", 'echo "oci-growfs $*" >>"$NODE/calls"\nexit 1\n')

    result = machine.run("join", **JOIN)

    assert machine.calls("oci-growfs") == ["oci-growfs -y"]
    assert (result.returncode, "did not grow" in result.stdout) == (0, True)


def test_steps_of_the_stack_file_run_around_the_joining_and_keep_no_node_away(machine: Machine) -> None:
    machine.program("bin/oke")
    steps = {
        "BEFORE_JOIN": encoded('echo "before it\'s" >>"$NODE/calls"\nexit 3'),
        "AFTER_JOIN": encoded('echo "after $(<"$ROOT/etc/oke/oke-apiserver")" >>"$NODE/calls"'),
    }

    result = machine.run("join", **{**JOIN, **steps})

    assert result.returncode == 0
    assert [line.split()[0] for line in machine.calls("before", "oke", "after")] == ["before", "oke", "after"]
    assert "beforeJoin failed; the node goes on" in result.stdout


def test_running_it_twice_leaves_the_same_files(machine: Machine) -> None:
    def files() -> dict[str, str]:
        root = machine.folder / "root"
        return {str(path): path.read_text(encoding="utf-8") for path in sorted(root.rglob("*")) if path.is_file()}

    machine.program("bin/oke")
    machine.run("join", **JOIN)
    first = files()

    assert machine.run("join", **JOIN).returncode == 0
    assert files() == first


def test_the_operator_host_gets_a_kubeconfig_that_signs_in_as_the_host(machine: Machine) -> None:
    machine.metadata(cluster_id="ocid1.cluster.oc1.iad.example")
    machine.program("bin/oci", _TOLD + 'while [[ $# -gt 0 && $1 != --file ]]; do shift; done\n: >"$2"\n')
    machine.write("refusals", "1")

    result = machine.run("operator", LOGIN="opc", REGION="us-ashburn-1")

    assert (result.returncode, result.stderr) == (0, "")
    config = machine.folder / "root/home/opc/.kube/config"
    assert machine.calls("oci")[-1] == (
        "oci ce cluster create-kubeconfig --auth instance_principal --cluster-id ocid1.cluster.oc1.iad.example "
        f"--region us-ashburn-1 --file {config} --token-version 2.0.0 --kube-endpoint PRIVATE_ENDPOINT"
    )
    assert config.stat().st_mode & 0o777 == 0o600
    assert "OCI_CLI_AUTH=instance_principal" in machine.read("root/etc/profile.d/gpu-fabric.sh")


def test_an_operator_host_without_the_command_line_says_so(machine: Machine) -> None:
    result = machine.run("operator", LOGIN="opc", REGION="us-ashburn-1")

    assert (result.returncode, result.stdout) == (1, "gpu-fabric: the image has no oci command\n")


@pytest.mark.parametrize("name", ["join", "operator"])
def test_a_script_fetches_nothing_but_the_instances_metadata(name: BootScript) -> None:
    text = boot_script(name, {})

    assert [word for word in text.split() if "://" in word] == [
        "METADATA=http://169.254.169.254/opc/v2/instance/metadata"
    ]


def test_user_data_are_the_script_in_base64_and_a_setting_cannot_end_its_line() -> None:
    text = boot_script("join", {**JOIN, "KUBELET_EXTRA_ARGS": "it's; rm -rf /"})

    assert base64.b64decode(user_data(text)).decode() == text
    assert text.startswith("#!/bin/bash\n")
    assert "KUBELET_EXTRA_ARGS='it'\"'\"'s; rm -rf /'" in text
