"""Input that cannot be read gives one message with file, line, what is expected and what to run; never a traceback."""

from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.catalog import Hardware, catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.sources import SOURCES
from gpu_fabric.discover.stack_file import StackFileOptions, stack_text
from gpu_fabric.discover.text import MOST_BYTES
from gpu_fabric.nccl.topology import Form, topology_xml
from tests.support.cluster_objects import cluster_objects
from tests.support.looked_at import look_of
from tests.support.node_outputs import NodeOutputs

SHAPE = catalog().shapes["BM.GPU.H100.8"]
OUTPUTS = NodeOutputs(SHAPE, vfs=1)
WRITERS: dict[str, Callable[[], str]] = {
    "look": lambda: look_of(OUTPUTS),
    "nccl-dump": lambda: OUTPUTS.nccl_dump(topology_xml(SHAPE, catalog().topologies[SHAPE.name], Form.LEAN)),
    "nvidia-smi-topo": OUTPUTS.nvidia_smi_topo,
    "nvidia-smi-gpus": OUTPUTS.nvidia_smi_gpus,
    "ibdev2netdev": OUTPUTS.ibdev2netdev,
    "rdma-link": OUTPUTS.rdma_link,
    "ip-link": OUTPUTS.ip_link,
    "ibstat": OUTPUTS.ibstat,
    "ibstatus": OUTPUTS.ibstatus,
    "show-gids": OUTPUTS.show_gids,
    "mst-status": OUTPUTS.mst_status,
    "lshw": OUTPUTS.lshw,
    "ibv-devinfo": OUTPUTS.ibv_devinfo,
    "sysfs": OUTPUTS.sysfs,
    "lspci": OUTPUTS.lspci,
    "cluster-objects": lambda: cluster_objects(SHAPE, 2),
    "cluster-config": OUTPUTS.cluster_config,
}
TEXTS = {kind: write() for kind, write in WRITERS.items()}


def refusal(data: bytes, kind: str | None = None) -> str:
    said = {"f": next(source for source in SOURCES if source.name == kind)} if kind else {}
    with pytest.raises(DiscoveryError) as refused:
        read_files({"f": data}, said)
    return str(refused.value)


def outcome(data: bytes, kind: str | None = None) -> str:
    """The stack file, with values that a stack file takes, or the message of a refusal; anything else is an error."""
    said = {"f": next(source for source in SOURCES if source.name == kind)} if kind else {}
    try:
        written = stack_text(
            discovered(read_files({"f": data}, said), catalog()), StackFileOptions(own_shape=True, name="lab")
        )
    except DiscoveryError as error:
        return str(error)
    fields = yaml.safe_load(written.text)["config"]["gpu-fabric:cluster"]["shapes"]["lab"]
    model = {"linkType": "ether", **fields.get("nicModel", {})}
    Hardware.model_validate({"gpus": {"vendor": "nvidia", "count": 999}, **fields, "nicModel": model})
    return written.text


def test_every_kind_has_an_example_here_and_is_recognised_by_its_content() -> None:
    assert list(TEXTS) == [source.name for source in SOURCES]
    for kind, text in TEXTS.items():
        assert read_files({"f": text.encode()}).sources == (("f", kind),)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "f: empty; run the commands on a GPU node"),
        (b"\n \n", "f: empty"),
        (b"bash: lspci: command not found\n",
            "f:1: 'bash: lspci: command not found' begins no output that is understood"),
        (b"\x89PNG\r\n\x1a\n\x00", "f:1: this is not UTF-8 text"),
        (b"18:00.0 Ethernet\xff\n", "f:1: this is not UTF-8 text"),
        (b"link mlx5_0/1 state ACTIVE\n\0", "f:2: a NUL character"),
        (b"-[0000:00]-+-00.0\n",
            "f:1: the tree of `lspci -t` is not read; give the output of `ls -l /sys/bus/pci/devices"),
        (b"x" * (MOST_BYTES + 1), "f: more than 16 MiB"),
        (b"link mlx5_0/1 state ACTIVE physical_state LINK_UP\n.......\n",
            "f:2: '.......' is not a line of `rdma link`"),
        (b"mlx5_0 port 1 ==> ens1 (Up)\nmlx5_1 po", "f:2: 'mlx5_1 po' is not a line of `ibdev2netdev -v`"),
        (b"\tGPU0\tNIC0\nGPU0\t X \tPIX\n", "f:1: NIC0 is not in the NIC legend"),
        (b"\tGPU0\tGPU1\tNIC0\nGPU0\t X \n", "f:2: the row of GPU0 has not 3 connections"),
        (b"\tGPU0\tGPU1\nGPU0\t X \tNV1\n", "f:1: 1 rows of GPUs below a head that has others"),
        (b"index, pci.bus_id\n0, here\n", "f:2: '0, here' is not a row of a GPU"),
        (b'[{"ifname": "mlx5_0", "physical_state": "LINK_UP"', "f:1: this is not valid JSON"),
        (b'{"ifname": 1, "mtu": 2, "physical_state": 3}', "begins no output"),
        (b'[{"ifname": 1, "mtu": 2}]', "f:1: an entry of `ip -j link`"),
        (b"clusterConfig: [\n", "f:2: this is not valid YAML"),
        (b"clusterConfig: []\n", "f:1: clusterConfig has no groups of nodes"),
        (b"clusterConfig:\n- identifier: a\n- identifier: b\n", "name one with --group: a, b"),
        (b"pfs:\n- rdmaDevice: mlx5_0\n", "f:2: an entry of `pfs` without a pciAddress"),
        (b'<system version="1">\n  <cpu numaid="0">\n', "f:2: NCCL stops reading here"),
        (b"18:00.0 PCI bridge: Intel Corporation\n", "f: no GPU, NIC or RDMA device in this output of `lspci"),
        (b"Slot:\t18:00.0\nClass:\t0200\n", "f:1: a device of `lspci -vmm` without Vendor, Device"),
    ],
)  # fmt: skip
def test_unreadable_input_is_refused_with_file_line_and_remedy(data: bytes, said: str) -> None:
    text = refusal(data)

    assert said in text
    assert ";" in text
    assert len(text) < 2500


def test_a_kind_that_the_user_says_is_not_guessed() -> None:
    assert "is not a line of `rdma link`" in refusal(TEXTS["lspci"].encode(), "rdma-link")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_with_a_byte_order_mark_and_line_ends_of_windows_is_read(encoding: str) -> None:
    data = TEXTS["rdma-link"].replace("\n", "\r\n").encode(encoding)

    assert outcome(data) == outcome(TEXTS["rdma-link"].encode())


@pytest.mark.parametrize("kind", TEXTS)
def test_a_file_cut_anywhere_is_read_or_refused(kind: str) -> None:
    data = TEXTS[kind].encode()
    for end in range(1, len(data), max(1, len(data) // 60)):
        assert outcome(data[:end])


@pytest.mark.parametrize("kind", TEXTS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(kind: str, data: st.DataObject) -> None:
    lines = TEXTS[kind].split("\n")
    number = data.draw(st.integers(0, len(lines) - 1))
    damage = data.draw(
        st.text(max_size=20) | st.sampled_from(["x" * 5000, "0000:00:00.0", "9" * 6000, "", "\t", "[" * 3000])
    )
    place = data.draw(st.integers(0, len(lines[number])))
    lines[number] = lines[number][:place] + damage + lines[number][place + data.draw(st.integers(0, 9)) :]

    assert outcome("\n".join(lines).encode("utf-8", "surrogatepass"), data.draw(st.sampled_from([None, kind])))


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=300), kind=st.sampled_from([None, *TEXTS]))
def test_any_bytes_are_read_or_refused(data: bytes, kind: str | None) -> None:
    assert outcome(data, kind)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b'[{"ifname": "a", "physical_state": ' + b"[" * 100_000,
        b"clusterConfig: " + b"[" * 20_000,
        b"clusterConfig: " + b"{a: " * 20_000,
        b"link " + b"a" * 1_000_000 + b"/1 state ACTIVE",
        b"mlx5_0 " + b"(" * 200_000 + b" port 1 ==> " + b" " * 200_000,
        b"\t" + b"GPU0\t" * 100_000,
        b"1: a: <" + b">" * 200_000 + b" mtu 1",
        b"18:00.0 " + b"[" * 200_000 + b": " + b"[0000:" * 100_000,
        b"user@host " * 50_000 + b"# lspci",
    ],
    ids=range(10),
)
def test_hostile_input_ends_soon_with_a_message(data: bytes) -> None:
    assert outcome(data)
