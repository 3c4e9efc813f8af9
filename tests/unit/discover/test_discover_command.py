"""`gpu-fabric discover`: files in, a stack file out, which `gpu-fabric plan` plans."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpu_fabric.catalog import catalog
from gpu_fabric.cli.app import app
from tests.support.command_line import refusal_of, result_of, run
from tests.support.node_outputs import NodeOutputs

COMMANDS = {
    "lspci.txt": "lspci",
    "rdma-link.txt": "rdma_link",
    "ibstat.txt": "ibstat",
    "ip-link.txt": "ip_link",
    "sysfs.txt": "sysfs",
    "topo.txt": "nvidia_smi_topo",
    "gpus.txt": "nvidia_smi_gpus",
}


@pytest.fixture
def node(tmp_path: Path) -> list[str]:
    """The outputs of a DGX H100 whose InfiniBand ports have another MTU than Ethernet's, as files."""
    shape = catalog().find("server.dgx-h100.8")
    assert shape is not None
    outputs = NodeOutputs(shape, mtu=4092)
    for file, command in COMMANDS.items():
        (tmp_path / file).write_text(getattr(outputs, command)(), encoding="utf-8")
    return [str(tmp_path / file) for file in COMMANDS]


def test_files_of_a_node_become_a_stack_file_that_is_planned(node: list[str], tmp_path: Path) -> None:
    out = tmp_path / "Pulumi.lab.yaml"

    written = run("discover", *node, "--own-shape", "--nodes", "4", "--supernet", "172.20.0.0/16", "--out", str(out))
    report = result_of("plan", "-f", str(out))

    assert (written.exit_code, written.stdout) == (0, "")
    assert "not known: PCI tree for NCCL" in written.stderr
    assert "h100x8" in report
    assert "mlx5_11" in report
    assert "172.20.0.0" in report
    assert "nodes: 4\n" in out.read_text(encoding="utf-8")


def test_the_stack_file_is_printed_where_no_file_is_named(node: list[str]) -> None:
    printed = run("discover", *node)

    assert printed.exit_code == 0
    assert "shape: server.dgx-h100.8\n" in printed.stdout
    assert printed.stderr.startswith("chosen: ")


def test_an_existing_file_is_kept_unless_it_may_be_replaced(node: list[str], tmp_path: Path) -> None:
    out = tmp_path / "Pulumi.mine.yaml"
    out.write_text("mine", encoding="utf-8")

    assert "the file exists; write another one, or replace it by --force" in refusal_of(
        "discover", *node, "--out", str(out)
    ).replace("\n", " ")
    assert out.read_text(encoding="utf-8") == "mine"

    assert run("discover", *node, "--out", str(out), "--force").exit_code == 0
    assert "config:" in out.read_text(encoding="utf-8")


def test_standard_input_is_a_file_as_well(node: list[str]) -> None:
    lspci, *others = node

    given = CliRunner().invoke(app, ["discover", "-", *others], input=Path(lspci).read_bytes())

    def without_source(printed: str, name: str) -> str:
        # Lines break elsewhere with a name of another length.
        return " ".join(printed.replace("#", " ").split()).replace(f" {name} (lspci)", "")

    by_name = without_source(run("discover", *node).stdout, lspci)
    assert without_source(given.stdout, "standard input") == by_name


def test_empty_files_are_left_out_and_said(node: list[str], tmp_path: Path) -> None:
    empty = tmp_path / "ibv_devinfo.txt"
    empty.touch()

    printed = run("discover", *node, str(empty))

    assert f"{empty}: empty, left out" in printed.stderr.replace("\n", " ")
    assert printed.stdout == run("discover", *node).stdout


def test_the_rails_are_those_that_the_user_names(node: list[str]) -> None:
    printed = run("discover", *node, "--rails", "mlx5_11, mlx5_0", "--name", "pair").stdout

    rails = printed.partition("nics:\n")[2].partition("frontEndNics")[0]
    assert [line.split("rdmaDevice: ")[1].split(",")[0] for line in rails.splitlines() if "rdma" in line] == [
        "mlx5_11",
        "mlx5_0",
    ]
    assert "      pair:\n" in printed


def test_the_supernet_by_default_is_outside_of_the_stated_ranges(node: list[str]) -> None:
    stated = ["--pods", "172.16.0.0/14", "--services", "10.96.0.0/16", "--node-range", "10.0.0.0/16"]

    printed = run("discover", *node, *stated).stdout

    assert "supernet: 172.24.0.0/16  # CHOOSE" in printed
    assert 'ranges: {pods: "172.16.0.0/14", services: "10.96.0.0/16", nodes: "10.0.0.0/16"}' in printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--supernet", "10.0.0.1/8"], "--supernet: 10.0.0.1/8 has host bits set; write 10.0.0.0/8"),
        (["--supernet", "10.0.0.0/8", "--pods", "10.2.0.0/16"], "overlaps the range of pods (10.2.0.0/16)"),
        (["--rails", "mlx5_77"], "--rails: no NIC is called 'mlx5_77'; the files have 0000:0b:00.0, mlx5_0"),
        (["--as", "lspci"], "which of the 7 files is it? Write --as FILE=lspci"),
        (["--as", "nowhere=lspci"], "nowhere is not among the files"),
        (["--group", "a"], "--group a: it names a group in a cluster-config.yaml or in a cluster's objects"),
        (["--name", "a b"], "--name: write letters, digits"),
        (["nowhere.txt"], "nowhere.txt: No such file or directory"),
        (["."], ".: Is a directory"),
    ],
)
def test_a_wrong_argument_is_refused(arguments: list[str], said: str, node: list[str]) -> None:
    assert said in " ".join(refusal_of("discover", *node, *arguments).split())


def test_a_kind_that_does_not_exist_is_refused_with_those_that_do(node: list[str]) -> None:
    text = " ".join(refusal_of("discover", node[0], "--as", "dmidecode").split())

    assert text.startswith("--as dmidecode: not a kind of file; allowed are look, nccl-dump, nvidia-smi-topo")


def test_the_kind_of_a_file_may_be_said(node: list[str]) -> None:
    assert run("discover", *node, "--as", f"{node[0]}=lspci").stdout == run("discover", *node).stdout
    assert "is not a line of `ibstat`" in " ".join(refusal_of("discover", node[0], "--as", "ibstat").split())
