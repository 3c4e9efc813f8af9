"""The linter of NCCL topology files: every rule, every release, both libraries, and any bytes."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from each_case import each
from hypothesis import given, settings
from hypothesis import strategies as st
from published_topologies import SHAPES
from topology_edits_content import CONTENT, nics_swapped
from topology_edits_form import FORM
from topology_texts import LEAN, Edit, after, both, bridge, bridges, full, linter_of, machine, match, on, put, without

from nccl_topology.dialect import Library
from nccl_topology.linter import FileReport, Linter
from nccl_topology.machine import Machine
from nccl_topology.problem import rules

CPU = 'modelid="143">\n'
NIC = "0000:0c:00.0"


def report_of(text: str, linter: Linter | None = None) -> FileReport:
    return (linter or linter_of()).lint("topo.xml", text.encode())


def ids_in(text: str, linter: Linter | None = None) -> set[str]:
    return {found.rule for found in report_of(text, linter).problems}


def linter_for(case: Case) -> Linter:
    return linter_of(shape=case.shape, dump=case.dump)


def lean(text: str) -> str:
    """A full file without what NCCL finds by itself."""
    for name in ("nvlink", "net"):
        text = re.sub(rf" *<{name} [^>]*/>\n", "", text)
    for name in ("gpu", "nic"):
        text = re.sub(rf" *<{name}[^>]*>\n *</{name}>\n", "", text)
    return text


class Case(NamedTuple):
    """A change that breaks a rule, and one close to it that does not; `alone` says that the first breaks no other."""

    rule: str
    bad: Edit
    good: Edit
    text: str = LEAN
    shape: str | None = None
    dump: str | None = None
    alone: bool = True


H100 = full("BM.GPU.H100.8")
GPU, SWITCH = "0000:0f:00.0", "ffff:00:01.0"
FRONT_END = '<pci busid="0000:1f:00.0" class="0x020000"/>\n'


def net_with(attributes: str) -> Edit:
    return on(NIC, put("/>", f'>\n<nic>\n<net name="mlx5_0"{attributes}/>\n</nic>\n</pci>'))


def gpu_numbered(number: int) -> Edit:
    return on(GPU, put("/>", f'>\n<gpu dev="{number}">\n</gpu>\n</pci>'))


# How each rule is broken, and much that breaks none, is in the tables of changes to the guide's files. These are
# borders, and what takes a dump or no shape.
CASES = (
    Case("TOP013", after(CPU, bridges(31, 0)), after(CPU, bridges(30, 0))),
    Case("TOP014", after(CPU, bridges(19, 9) + bridge(999) + bridge(998)), after(CPU, bridges(19, 9))),
    Case("TOP024", put('numaid="1"', 'numaid="01"'), put('numaid="1"', 'numaid="-1"')),
    Case("TOP025", put('"0000ffff"', '"0-15"'), put('"0000ffff"', '"0000FFFF"')),
    Case("TOP028", put("0000:0f", "0000:0F"), put("0000:0f", "0001:0f")),
    Case("TOP030", put(SWITCH, "0000:00:01.0"), put(SWITCH, "fff0:00:01.0")),
    Case("TOP032", put("32.0 GT/s PCIe", "32.0 GT/s"), put("32.0 GT/s PCIe", "64.0 GT/s PCIe")),
    Case("TOP033", put('link_width="16"/>', 'link_width="0"/>'), put('link_width="16"/>', 'link_width="1"/>')),
    Case("TOP035", on(SWITCH, put('h="16"', 'h="8"')), both(*(on(at, put('h="16"', 'h="8"')) for at in (GPU, NIC)))),
    Case("TOP036", without(GPU), after(CPU, FRONT_END), H100, "BM.GPU.H100.8"),
    Case("TOP041", net_with(' speed="180000"'), net_with(' speed="200000"'), alone=False),
    Case("TOP042", put('d="200000"', 'd="100000"'), put('d="200000"', 'd="400000"'), H100, "BM.GPU.H100.8"),
    Case("TOP043", net_with(' rail="0"'), net_with(' coll="0"'), alone=False),
    Case("TOP046", put("0000:0c", "0000:0d"), lambda t: t, dump=LEAN),
    Case("TOP048", both(put(":89", ":0f"), put(":86", ":0c")), put(":89", ":0f"), alone=False),
    Case("TOP049", put(' arch="', ' family="6" arch="'), put(' arch="', ' affinity_offset="0" arch="')),
    Case("TOP054", put("0000:0c:00.0", "0000:0c:00.1"), put("0000:0c:00.0", "0000:0c:01.0")),
    Case("TOP055", put("0000:0f:00.0", "0000:0f:00.1"), put("0000:0f:00.0", "0000:0f:00.4")),
    Case("TOP056", put('gdr="1"/>', 'gdr="yes"/>'), put(' gdr="1"/>', "/>"), H100, "BM.GPU.H100.8"),
    Case("TOP057", put('port="2"', 'port="1"'), put('port="2"', 'port="3"'), H100, "BM.GPU.H100.8"),
    Case("TOP058", gpu_numbered(32), gpu_numbered(31), alone=False),
    Case("TOP059", put("0xc030", "0xc010"), put('"0x1003"', '"0x1004"'), H100, "BM.GPU.H100.8"),
)


def test_every_rule_about_topology_files_has_a_case() -> None:
    broken = {rule for mutation in (*FORM, *CONTENT) for rule in mutation.rules} | {case.rule for case in CASES}

    assert sorted(broken) == [*rules()]


@each("case", CASES, ids=lambda case: case.rule)
def test_a_rule_finds_what_breaks_it_and_not_what_is_close_to_that(case: Case) -> None:
    found, near = (ids_in(edit(case.text), linter_for(case)) for edit in (case.bad, case.good))

    assert case.rule in found - near
    assert not case.alone or (found, near) == ({case.rule}, set())


@pytest.mark.parametrize("name", ["BM.GPU4.8", "BM.GPU.A100-v2.8"])
def test_masks_whose_first_group_is_short_everywhere_are_as_kernels_print_them(name: str) -> None:
    shortened = full(name).replace('affinity="00000000,', 'affinity="000000,')

    assert ids_in(shortened, linter_of(shape=name)) == set()


def test_findings_come_in_the_order_of_the_lines() -> None:
    text = put('numaid="1"', 'numaid="x"')(put("0000:0f", "0000:0F")(put("32.0 GT/s PCIe", "Gen5")(LEAN)))
    lines = [found.line for found in report_of(text).problems]

    assert len(lines) == 3
    assert lines == sorted(lines)


@pytest.mark.parametrize(("version", "holds"), [("2.20.5", 31), ("2.21.5", 127), ("2.25.1", 128), (None, 31)])
def test_how_much_an_element_holds_depends_on_the_release(version: str | None, holds: int) -> None:
    """A switch counts as linked to the place above it, and releases before 2.25 hold as many links as elements."""
    linter = linter_of(version=version)

    for held, found in ((holds, set()), (holds + 1, {"TOP013"})):
        text = after(CPU, bridge(500, "".join(bridge(number) for number in range(held))))(LEAN)
        assert ids_in(text, linter) - {"TOP014"} == found


@pytest.mark.parametrize(
    ("version", "accepted"), [("2.20.5", True), ("2.21.5", False), ("2.30.7", False), (None, False)]
)
def test_how_many_elements_a_file_has_depends_on_the_release(version: str | None, accepted: bool) -> None:
    report = report_of(after(CPU, bridges(25, 9))(LEAN), linter_of(version=version))

    assert report.accepted is accepted
    assert {found.rule for found in report.problems} == (set() if accepted else {"TOP012"})


def test_the_last_element_that_is_held_is_the_255th() -> None:
    """The reader looks for room before it reads the closing tag of the root."""
    of_249 = after(CPU, bridges(24, 9))(LEAN)
    of_255, of_256 = (after(CPU, "".join(map(bridge, range(900, 900 + more))))(of_249) for more in (6, 7))

    assert (report_of(of_255).accepted, report_of(of_255).nodes) == (True, 255)
    assert not report_of(of_256).accepted


@pytest.mark.parametrize(
    ("version", "accepted", "rule"), [("2.26.5", False, "TOP004"), ("2.27.3", True, None), (None, True, "TOP004")]
)
def test_single_quotes_are_for_releases_from_2_27_on(version: str | None, accepted: bool, rule: str | None) -> None:
    report = report_of(LEAN.replace('"', "'"), linter_of(version=version))

    assert report.accepted is accepted
    assert {found.rule for found in report.problems} == ({rule} if rule else set())


def test_before_2_27_a_single_quote_may_hide_the_attribute_behind_it() -> None:
    report = report_of(match('arch="x86_64" vendor="', "arch='x86_64' vendor=\"")(LEAN), linter_of(version="2.26.5"))

    assert [found.rule for found in report.problems] == ["TOP003"]


@pytest.mark.parametrize(("version", "found"), [("2.30.7", False), ("2.30.4", True), (None, True)])
def test_rails_are_for_releases_that_know_them(version: str | None, found: bool) -> None:
    text = full("BM.GPU.H100.8").replace(' port="1"', ' rail="0" port="1"')

    assert ids_in(text, linter_of(version=version)) == ({"TOP043"} if found else set())


@pytest.mark.parametrize(
    ("element", "place", "since", "before"), [("c2c", "gpu", "2.19", "2.18.6"), ("pcilink", "pci", "2.22.3", "2.20.5")]
)
def test_what_a_release_skips_is_said(element: str, place: str, since: str, before: str) -> None:
    below = '<c2c bw="43125" count="8"/>\n' if element == "c2c" else '<pcilink target="0000:89:00.0"/>\n'
    inside = f"<gpu>\n{below}</gpu>\n" if place == "gpu" else below
    text = on("0000:0f:00.0", put("/>", f">\n{inside}</pci>"))(LEAN)

    assert ("TOP016" in ids_in(text, linter_of(version=before)), "TOP043" in ids_in(text)) == (True, True)
    assert ids_in(text, linter_of(version=since)) == {"TOP039"}


@pytest.mark.parametrize(
    ("version", "library", "found"),
    [
        (None, Library.NCCL, True),
        ("2.30.7", Library.NCCL, True),
        ("2.30.4", Library.NCCL, False),
        (None, Library.RCCL, False),
    ],
)
@pytest.mark.parametrize("function", [1, 2, 3, 5, 6, 7])
def test_a_gpus_function_leaves_nccl_its_bits(
    version: str | None, library: Library, found: bool, function: int
) -> None:
    text = put("0000:0f:00.0", f"0000:0f:00.{function}")(LEAN)
    text = text.replace('version="1"', 'version="2"') if library is Library.RCCL else text

    assert ids_in(text, linter_of(library, version)) == ({"TOP055"} if found else set())


@pytest.mark.parametrize(
    "written", ['vendor="GenuineIntel" familyid="6"', 'familyid="6"', 'arch="x86_64" familyid="6"']
)
def test_a_family_without_its_model_is_for_makers_whose_model_nccl_does_not_read(written: str) -> None:
    text = put('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"', written)(LEAN)

    assert ids_in(text) == {"TOP050"}
    amd = text.replace("GenuineIntel", "AuthenticAMD").replace(written, f'{written} vendor="AuthenticAMD"')
    assert ids_in(amd.replace('familyid="6"', 'familyid="25"')) <= {"TOP018"}


@pytest.mark.parametrize("name", ["modelid", "familyid"])
@pytest.mark.parametrize(
    ("value", "found"), [("0x6", False), ("010", True), ("0143", True), ("six", True), ("06", False)]
)
def test_numbers_of_cpus_are_read_as_c_reads_them(name: str, value: str, found: bool) -> None:
    text = match(f'{name}="[0-9]+"', f'{name}="{value}"')(LEAN)

    assert ids_in(text) == ({"TOP040"} if found else set())
    amd = text.replace("GenuineIntel", "AuthenticAMD")
    assert ids_in(amd, linter_of(version="2.30.7")) == set()
    if name == "modelid":
        assert ids_in(amd.replace('familyid="6"', 'familyid="25"')) == set()


@each("value, found", [("23", False), ("25", False), ("0x1a", False), ("191", False), ("21", True), ("zen", True)])
def test_the_family_of_an_amd_cpu_counts_from_2_31_on(value: str, found: bool) -> None:
    text = LEAN.replace("GenuineIntel", "AuthenticAMD").replace('familyid="6"', f'familyid="{value}"')

    assert ids_in(text, linter_of(version="2.31.2")) == ({"TOP040"} if found else set())
    assert ids_in(text, linter_of(version="2.30.7")) == set()


@pytest.mark.parametrize("numa", ["00", "01", "-2", "+1", "0x1", " 1", "1 "])
def test_a_numa_node_is_written_as_the_kernel_writes_it(numa: str) -> None:
    assert ids_in(put('numaid="1"', f'numaid="{numa}"')(LEAN)) == {"TOP024"}


def with_named_port(text: str) -> str:
    return on(NIC, put("/>", '>\n<nic>\n<net name="mlx5_0" dev="0"/>\n</nic>\n</pci>'))(text)


NEEDED = {"cpu": ("arch", "vendor", "familyid", "modelid"), "pci": ("class", "link_speed", "link_width")}


@each("shape", SHAPES)
@each("version", ["2.21.5", "2.22.3", "2.30.7", "2.31.2", None])
def test_what_no_rank_or_not_every_rank_completes_says_all_that_nccl_needs(shape: str, version: str | None) -> None:
    """Each attribute of each element above a port is left out once; the tree says which ranks complete the element."""
    tree = ElementTree.fromstring(full(shape))  # noqa: S314 (our own text)
    every = len(tree.findall(".//gpu"))
    linter = linter_of(version=version)
    seen = set()
    for element in tree.iter():
        gpus, ports = len(element.findall(".//gpu")), element.findall(".//net")
        if element.tag not in NEEDED or not ports:
            continue
        # Up to 2.21.5 a rank completes what is above any GPU of the job, later above its own alone.
        completed = gpus > 0 if version == "2.21.5" else gpus == every
        for attribute in NEEDED[element.tag]:
            kept = element.attrib.pop(attribute)
            report = linter.lint("topo.xml", ElementTree.tostring(tree))
            element.set(attribute, kept)
            stops = [found for found in report.problems if found.rule == "TOP050"]
            # Of family and model NCCL fills in both or none; of AMD's it reads the family alone, from 2.31 on.
            if element.get("vendor") == "AuthenticAMD" and attribute in ("familyid", "modelid"):
                expected = attribute == "familyid" and version in ("2.31.2", None)
            else:
                expected = not completed or attribute == "modelid"
            assert bool(stops) is expected, (element.attrib, attribute)
            seen.add((element.tag, gpus > 0, completed))
    assert {tag for tag, *_ in seen} == set(NEEDED)
    assert {completed for *_, completed in seen} == ({True, False} if version == "2.21.5" else {False})


def test_above_a_port_without_a_name_nccl_fills_in_what_is_missing() -> None:
    text = on(NIC, match(' link_speed="[^"]*"', ""))(with_named_port(LEAN))

    assert "TOP050" in ids_in(text)
    assert "TOP050" not in ids_in(put(' name="mlx5_0"', "")(text))


def test_an_interface_of_nccls_sockets_is_where_its_dump_has_it() -> None:
    socket = '>\n<nic>\n<net name="eno2np1" dev="0" speed="10000" port="0" gdr="0"/>\n</nic>\n</pci>'
    text = put(NIC, "0000:0c:00.1")(on(NIC, put("/>", socket))(LEAN))

    assert not {"TOP054", "TOP056"} & ids_in(text)
    assert {"TOP054", "TOP056"} <= ids_in(text.replace('port="0"', 'port="1"'))


def test_nics_on_a_bus_of_several_devices_are_told_apart_by_their_addresses() -> None:
    gpus, rails = ("0000:10:1a.0", "0000:10:1b.0"), tuple((f"0000:10:1{digit}.0", 0) for digit in "cd")
    linter = Linter.of(machine=Machine("guest", "nvidia", 2, gpus, rails))
    link = 'link_speed="32.0 GT/s PCIe" link_width="16"'
    devices = {"1a": "0x030200", "1b": "0x030200", "1c": "0x020000", "1d": "0x020000"}
    lines = [f'<pci busid="0000:10:{number}.0" class="{kind}" {link}/>\n' for number, kind in devices.items()]
    bare = re.sub(r"      <pci [^\n]*\n", "", LEAN)

    assert ids_in(after('link_width="16">\n', "".join(lines))(bare), linter) == set()
    assert "TOP036" in ids_in(after('link_width="16">\n', "".join(lines[:3]))(bare), linter)
    moved = "".join(lines).replace("10:1d.0", "10:1e.0")
    assert "TOP036" in ids_in(after('link_width="16">\n', moved)(bare), linter)


@pytest.mark.parametrize(
    ("count", "version", "accepted"), [(1000, None, True), (1000, "2.21.5", True), (8300, None, False)]
)
def test_rccl_holds_more_than_nccl(count: int, version: str | None, accepted: bool) -> None:
    text = after(CPU, bridges(count // 25, 24))(LEAN.replace('version="1"', 'version="2"'))
    report = report_of(text, linter_of(Library.RCCL, version))

    assert (report.accepted, {found.rule for found in report.problems}) == (accepted, set() if accepted else {"TOP012"})
    assert not report_of(text.replace('version="2"', 'version="1"')).accepted


def test_a_file_that_leaves_classes_to_the_system_and_spells_speeds_its_own_way_has_remarks_alone() -> None:
    """As in files of AWS: devices without a class, below made-up switches with one."""
    devices = re.sub(r'(busid="0000:[^"]*") class="[^"]*"', r"\1", LEAN)
    report = report_of(devices.replace("32.0 GT/s PCIe", "32 GT/s PCIe/s"))

    assert {found.rule for found in report.problems} == {"TOP052"}
    assert {found.severity for found in report.problems} == {"warning"}


def test_interfaces_for_sockets_have_neither_gpudirect_nor_guids() -> None:
    """As in RCCL's dumps of virtual machines: below a NUMA node, and no PCI device."""
    net = '<nic>\n<net name="eth0" dev="0" speed="100000" port="0" guid="0x0" gdr="0"/>\n</nic>\n'
    text = after(CPU, net + net.replace("eth0", "eth1"))(LEAN)

    assert not ids_in(text) & {"TOP056", "TOP057"}


def test_what_nccl_overwrites_in_any_case_may_be_in_a_dump() -> None:
    bare = full("BM.GPU.H100.8")
    dump = re.sub(r"<cpu ", '<cpu host_hash="0x1f" ', bare).replace(' rank="', ' rank="1')
    dump = re.sub(r' dev="(\d+)" speed', r' dev="9\1" speed', dump)

    assert dump.count("host_hash") == 2
    assert ids_in(dump) == ids_in(bare) == set()


def test_links_slower_than_what_hangs_below_are_a_remark_since_some_machines_are_so() -> None:
    slow = on(NIC, put("32.0", "16.0"))(full("BM.GPU.H100.8"))
    narrow = put('link_width="16"', 'link_width="8"')(LEAN)

    for text, rule in ((slow.replace('"200000"', '"400000"'), "TOP034"), (narrow, "TOP035")):
        severities = {found.severity for found in report_of(text).problems if found.rule == rule}
        assert severities == {"warning"}


@pytest.mark.parametrize("version", ["1.9", "3.0", "latest", ""])
def test_what_is_no_version_of_nccl_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match=r"not a (valid )?version"):
        linter_of(version=version)


def test_each_library_refuses_the_format_of_the_other() -> None:
    rccl = LEAN.replace('version="1"', 'version="2"')

    assert ids_in(rccl) == ids_in(LEAN, linter_of(Library.RCCL)) == {"TOP009"}
    assert ids_in(rccl, linter_of(Library.RCCL)) == set()


def test_a_shape_with_gpus_of_amd_is_for_rccl_unless_said_otherwise() -> None:
    shape = "BM.GPU.MI300X.8"

    assert linter_of(shape=shape).dialect.library is Library.RCCL
    assert linter_of(Library.NCCL, shape=shape).dialect.library is Library.NCCL


def test_rccls_links_are_read_by_rccl_alone() -> None:
    with_links = on("0000:0f:00.0", put("/>", '>\n<gpu>\n<xgmi target="0" count="1"/>\n</gpu>\n</pci>'))(LEAN)

    assert "TOP016" in ids_in(with_links)
    assert ids_in(put('version="1"', 'version="2"')(with_links), linter_of(Library.RCCL)) == {"TOP039"}


def test_what_is_pinned_is_found_where_no_published_file_has_it() -> None:
    other = full("BM.GPU.H100.8").replace("0000:0f:", "0000:0e:")

    assert ids_in(other) == {"TOP034", "TOP038", "TOP039"}


def test_a_shape_without_a_published_tree_is_held_to_its_addresses_and_nearest_gpus() -> None:
    linter = linter_of(shape="BM.GPU.B4.8")
    text = lean(full("BM.GPU.A100-v2.8"))

    assert ids_in(text, linter) == set()
    assert ids_in(nics_swapped(text), linter) == {"TOP037"}
    assert ids_in(lean(full("BM.GPU4.8")), linter) == {"TOP036"}


def test_a_shape_without_addresses_is_held_to_its_number_of_gpus() -> None:
    linter = linter_of(shape="gpu-h100x8-640gb-contracted")

    assert ids_in(lean(full("BM.GPU.H100.8")), linter) == set()
    assert ids_in(LEAN, linter) == {"TOP036"}


def test_gpus_of_amd_that_the_file_does_not_tell_apart_are_not_counted() -> None:
    linter = linter_of(shape="server.mi300x.8")
    rccl = LEAN.replace('version="1"', 'version="2"')

    assert ids_in(rccl, linter) == {"TOP036"}
    assert ids_in(rccl.replace("0x030200", "0x120000"), linter) == set()


def test_the_shapes_line_rate_counts_where_the_file_has_no_ports() -> None:
    shape = "server.dgx-h100.8"
    busid = next(iter(machine(shape).nics))
    slow = f'<pci busid="{busid}" class="0x020000" link_speed="16.0 GT/s PCIe" link_width="16"/>\n'

    assert "TOP034" in ids_in(after(CPU, slow)(LEAN), linter_of(shape=shape))
    assert "TOP034" not in ids_in(after(CPU, slow.replace("16.0", "32.0"))(LEAN), linter_of(shape=shape))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (put("0000:0c", "0000:0d"), {"not in the dump", "of the dump is not in the file"}),
        (put('numaid="0"', 'numaid="3"'), {"in the dump, below NUMA node '0'"}),
    ],
)
def test_a_dump_shows_what_is_missing_and_what_hangs_elsewhere(edit: Edit, said: set[str]) -> None:
    messages = [found.message for found in report_of(edit(LEAN), linter_of(dump=LEAN)).problems]

    assert all(any(part in message for message in messages) for part in said)


@pytest.mark.parametrize("dump", ["", "<?xml version='1.0'?>", LEAN.replace('version="1"', 'version="2"')])
def test_what_is_no_dump_is_refused(dump: str) -> None:
    with pytest.raises(ValueError, match="the dump is not a topology file of NCCL"):
        linter_of(dump=dump)


@cache
def linters() -> tuple[Linter, ...]:
    shape = "BM.GPU.H100.8"
    return (
        linter_of(),
        linter_of(version="2.18.3"),
        linter_of(Library.RCCL),
        linter_of(shape=shape, dump=full("BM.GPU.H100.8")),
        linter_of(shape="BM.GPU.B4.8"),
    )


PIECES = ["<", ">", "/", " ", "=", '"', "'", "\n", "\t", "\0", "!--", "-->", "?", "&lt;", "system", "cpu", "pci", "nic"]
PIECES += ["net", "gpu", 'version="1"', 'busid="0000:0f:00.0"', "affinity", 'numaid="0"', "\xe9", "x" * 254, "9" * 5000]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good file with some bytes taken out, put in or exchanged."""
    data = draw(st.sampled_from([LEAN, full("BM.GPU.H100.8")])).encode()
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(data)))
        end = begin + draw(st.integers(0, 30))
        data = data[:begin] + draw(st.sampled_from(PIECES)).encode() + data[end:]
    return data


pieces = st.lists(st.sampled_from(PIECES), max_size=40).map("".join).map(str.encode)


@given(st.one_of(st.binary(max_size=200), pieces, damaged()))
@settings(max_examples=300, deadline=None)
def test_any_bytes_get_a_verdict(data: bytes) -> None:
    for linter in linters():
        report = linter.lint("any", data)
        assert report.accepted or len(report.problems) == 1
        assert all(1 <= found.line <= data.count(b"\n") + 1 for found in report.problems)
        assert all(f"{found.message}{found.remedy}".isprintable() for found in report.problems)


@pytest.mark.parametrize(
    "data", [b"<" * 9000, b"<a>" * 9000, b"<system version='1'>" + b"<x y='1'>" * 9000, b"<cpu " * 9000]
)
def test_deep_nesting_gets_a_verdict(data: bytes) -> None:
    assert not linter_of().lint("deep", data).accepted
