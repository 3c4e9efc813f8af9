"""NCCL's variables: what a stack file sets itself, what a measurement sets on top, and what is said of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from changes import Changes, changed
from each_case import each
from typer.testing import CliRunner

from gpu_fabric.catalog import CatalogError, catalog, nccl_environment, read_model
from gpu_fabric.catalog.nccl import NcclTable
from gpu_fabric.catalog.shape import LinkType
from gpu_fabric.catalog.version import Version
from gpu_fabric.cli.app import app
from gpu_fabric.nccl.name_list import NameList
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare, prepare_stack
from gpu_fabric.report.pages.explanation import audience_words
from gpu_fabric.report.pages.references import nccl_reference
from gpu_fabric.spec.load import read_document
from gpu_fabric.workloads.nccl_test import JobScheduler, NcclTest, manifest_text, nccl_test

PlanWith = Callable[[Changes], Plan]

# What the guides, Oracle's settings table and test jobs, DigitalOcean's examples and the verdict's page name.
_TEXT = """
NCCL_SOCKET_IFNAME NCCL_SOCKET_NTHREADS NCCL_IB_HCA NCCL_IB_GID_INDEX NCCL_IB_ADDR_FAMILY NCCL_IB_ADDR_RANGE NCCL_IB_TC
NCCL_IB_FIFO_TC NCCL_IB_SL NCCL_IB_TIMEOUT NCCL_IB_QPS_PER_CONNECTION NCCL_IB_SPLIT_DATA_ON_QPS NCCL_IB_ADAPTIVE_ROUTING
NCCL_IB_AR_THRESHOLD NCCL_IB_PCI_RELAXED_ORDERING NCCL_IB_USE_INLINE NCCL_CROSS_NIC NCCL_PXN_DISABLE NCCL_NET_GDR_LEVEL
NCCL_NET_GDR_C2C NCCL_DMABUF_ENABLE NCCL_GDR_FLUSH_DISABLE RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING NCCL_CUMEM_ENABLE
NCCL_MNNVL_ENABLE NCCL_NVLS_ENABLE NCCL_BUFFSIZE NCCL_MIN_NCHANNELS NCCL_MAX_P2P_NCHANNELS RCCL_IB_ABORT_ON_ERROR
NCCL_NET_OPTIONAL_RECV_COMPLETION RCCL_LL128_FORCE_ENABLE NCCL_IGNORE_CPU_AFFINITY NCCL_NET_PLUGIN NCCL_CONF_FILE
NCCL_TOPO_FILE NCCL_TOPO_DUMP_FILE NCCL_GRAPH_FILE NCCL_GRAPH_DUMP_FILE NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_ALGO
NCCL_TESTS_MIN_BW NCCL_TESTS_SPLIT UCX_TLS UCX_NET_DEVICES OMPI_MCA_btl OMPI_MCA_btl_tcp_if_include
HCOLL_ENABLE_MCAST_ALL RX_QUEUE_LEN IB_RX_QUEUE_LEN IONIC_LOCKFREE HSA_NO_SCRATCH_RECLAIM
"""
NAMED = _TEXT.split()

TABLE: dict[str, Any] = {
    "variables": {
        "NCCL_IB_TC": {
            "does": "Sets the traffic class.",
            "form": "integer",
            "since": "2.1.15",
            "source": "manual",
            "refused": [{"values": ["7"], "why": "it is the switches' own", "instead": "write 41"}],
            "settings": [{"value": "41", "scope": "both", "why": "lossless", "source": "table"}],
        }
    },
    "further": [{"library": "nccl", "source": "manual", "since": {"unmarked": ["NCCL_NTHREADS"]}}],
}


def explained(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["explain", *arguments])

    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


@pytest.mark.parametrize(
    ("name", "since", "before"),
    [
        ("NCCL_NET_OPTIONAL_RECV_COMPLETION", "2.24.3", "2.23.4"),
        ("NCCL_IB_USE_INLINE", "2.8.3", "2.7.8"),
        ("NCCL_MAX_P2P_NCHANNELS", "2.7.3", "2.6.4"),
        ("NCCL_GRAPH_FILE", "2.6.4", "2.5.7"),
        ("NCCL_SOCKET_MAGIC", "2.30.7", "2.30.4"),
        ("NCCL_TUNER_PLUGIN", "2.19.1", "2.18.6"),
        ("NCCL_IB_MERGE_VFS", "2.18.1", "2.17.1"),
        ("NCCL_IB_RESILIENCY_PORT_FAILOVER", "2.29.7", "2.29.3"),
        ("NCCL_IB_RESILIENCY_PORT_RECOVERY", "2.30", "2.29.7"),
        ("NCCL_NET_FORCE_FLUSH", "2.15.1", "2.14.3"),
        ("NCCL_SOCKET_RCVBUF", "2.27.3", "2.26.6"),
        ("NCCL_IB_SUBNET_AWARE_ROUTING", "2.30.7", "2.30.4"),
        ("NCCL_GIN_ENABLE", "2.28.7", "2.28.3"),
        ("NCCL_PAT_ENABLE", "2.23.4", "2.22.3"),
        ("NCCL_P2P_READ_ENABLE", "2.7.3", "2.6.4"),
        ("NCCL_MNNVL_RAIL_PER_HOST", "2.28.7", "2.28.3"),
        ("NCCL_TOPO_DUMP_FILE_RANK", "2.6.4", "2.5.7"),
        ("NCCL_SYM_KERNEL_ID", "2.31", "2.30.7"),
    ],
)
def test_a_variable_is_too_new_for_releases_before_its_first(name: str, since: str, before: str) -> None:
    variable = catalog().nccl_variables[name]

    assert not variable.newer_than(Version.parse(since))
    assert variable.newer_than(Version.parse(before))


@each(
    "name, last, after",
    [
        ("NCCL_AGG_CHANNEL_SIZE", "2.19.4", "2.20.3"),
        ("NCCL_MNNVL", "2.20.5", "2.21.5"),
        ("NCCL_GIN_NCONTEXTS", "2.29.7", "2.30.3"),
        ("NCCL_SHM_MEMCPY_MODE", "2.30.4", "2.30.7"),
    ],
)
def test_a_variable_is_gone_after_its_last_release(name: str, last: str, after: str) -> None:
    variable = catalog().nccl_variables[name]

    assert not variable.older_than(Version.parse(last))
    assert variable.older_than(Version.parse(after))


def test_a_variable_that_is_gone_has_a_first_release(tmp_path: Path) -> None:
    path = tmp_path / "nccl.yaml"
    part = {**TABLE["further"][0], "last": {"NCCL_OTHER": "2.20.5"}}
    path.write_text(yaml.safe_dump(TABLE | {"further": [part]}), encoding="utf-8")

    with pytest.raises(CatalogError, match="the last release of NCCL_OTHER, whose first is not here"):
        read_model(NcclTable, path)


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_HOSTID",
        "NCCL_IB_DATA_DIRECT",
        "NCCL_NET_MERGE_LEVEL",
        "NCCL_NVLS_NCHANNELS",
        "NCCL_IGNORE_DISABLED_P2P",
        "NCCL_IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY",
        "NCCL_IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX",
    ],
)
@pytest.mark.usefixtures("project")
def test_a_variable_of_nccls_source_is_explained(name: str) -> None:
    assert name in explained(name)


@each("name", NAMED)
def test_a_variable_that_somebodys_documents_set_is_set_or_has_a_reason_why_not(name: str) -> None:
    variable = catalog().nccl_variables[name]

    assert variable.does
    assert variable.settings or variable.not_set


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"settings": []}, "NCCL_IB_TC is never set, and notSet does not say why"),
        ({"since": "soon"}, "variables.0.since"),
        ({"settings": [{"value": "4x", "scope": "both", "why": "w", "source": "s"}]}, "is not a whole number"),
        ({"settings": [{"value": "7", "scope": "both", "why": "w", "source": "s"}]}, "set here and refused"),
        ({"settings": [{"value": "41", "why": "w", "source": "s"}]}, "variables.0.settings.0.scope: Field required"),
        ({"settings": [{"value": "41", "scope": "both", "why": "", "source": "s"}]}, "variables.0.settings.0.why"),
        ({"settings": [{"value": "41", "scope": "jobs", "why": "w", "source": "s"}]}, "variables.0.settings.0.scope"),
        ({"source": None}, "variables.0.source"),
        ({"refused": [{"values": ["1"], "unless": ["0"], "why": "w", "instead": "i"}]}, "give one of them"),
    ],
)
def test_an_entry_that_contradicts_itself_is_refused_with_its_file(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "nccl.yaml"
    path.write_text(yaml.safe_dump(TABLE), encoding="utf-8")
    assert set(read_model(NcclTable, path).known) == {"NCCL_IB_TC", "NCCL_NTHREADS"}

    wrong = {"NCCL_IB_TC": TABLE["variables"]["NCCL_IB_TC"] | change}
    path.write_text(yaml.safe_dump(TABLE | {"variables": wrong}), encoding="utf-8")

    with pytest.raises(CatalogError) as refused:
        read_model(NcclTable, path)
    assert str(refused.value).startswith("nccl.yaml: ")
    assert reason in str(refused.value)


def test_a_variable_that_is_listed_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nccl.yaml"
    again = [{"library": "nccl", "source": "manual", "since": {"2.1.15": ["NCCL_IB_TC"]}}]
    path.write_text(yaml.safe_dump(TABLE | {"further": again}), encoding="utf-8")

    with pytest.raises(CatalogError, match="NCCL_IB_TC is listed twice"):
        read_model(NcclTable, path)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("mlx5_1", ["mlx5_1", "mlx5_10"]),
        ("=mlx5_1", ["mlx5_1"]),
        ("=mlx5_0:1,mlx5_10:1:0", ["mlx5_0", "mlx5_10"]),
        ("^=mlx5_1", ["mlx5_0", "mlx5_10"]),
        ("^mlx5_1", ["mlx5_0"]),
        ("==mlx5_0", []),
    ],
)
def test_a_list_of_names_takes_what_nccl_takes(text: str, taken: list[str]) -> None:
    assert [name for name in ("mlx5_0", "mlx5_1", "mlx5_10") if NameList.parse(text).takes(name)] == taken


def test_settings_of_the_stack_file_come_last_in_file_and_environment(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.nccl.settings": {"NCCL_IB_TC": 104, "NCCL_RAS_ENABLE": "0"}})
    (file,) = [file for file in plan.nccl.files if file.key == "nccl.conf"]

    assert plan.workload.environment["NCCL_IB_TC"] == "104"
    assert plan.workload.environment["NCCL_RAS_ENABLE"] == "0"
    assert file.content.splitlines().count("NCCL_IB_TC=104") == 1
    assert "NCCL_IB_TC=41" not in file.content


def test_each_setting_of_a_plan_says_whose_word_it_is(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.nccl.settings": {"NCCL_IB_TC": 104}})
    words = {row.variable: row for row in plan.nccl.settings}

    assert words["NCCL_IB_TC"].stated_by == "stack"
    assert (words["NCCL_IB_SL"].stated_by, words["NCCL_IB_SL"].since) == ("catalog", Version.parse("2.1.4"))
    assert all(row.why and row.source for row in plan.nccl.settings)


def test_what_a_measurement_sets_is_in_no_jobs_environment_file_or_patch(stack_plans: tuple[Plan, ...]) -> None:
    for plan in stack_plans:
        job = plan.workload
        measured = job.verification_environment
        assert (
            measured.items() >= {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET", "NCCL_ALGO": "Ring"}.items()
        )
        assert not {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_ALGO"} & set(job.environment)
        assert "NCCL_DEBUG" not in json.dumps(job.pod_template_patch)
        assert not [file for file in plan.nccl.files if "NCCL_DEBUG" in file.content]


def test_nodes_of_a_rack_are_measured_over_their_rails(root: Path) -> None:
    document = read_document("host-network", root / "tests" / "stacks")
    plan = prepare(changed(document, {"cluster.pools[0].shape": "BM.GPU.GB300.4"}), for_up=False)

    assert plan.workload.environment["NCCL_MNNVL_ENABLE"] == "0"
    assert "NCCL_MNNVL_ENABLE" not in plan.workload.verification_environment


def test_a_measurement_keeps_its_own_settings_whatever_jobs_are_told(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.nccl.settings": {"NCCL_DEBUG": "WARN", "NCCL_IB_TC": 104}})
    text = manifest_text(nccl_test(plan.workload, NcclTest(JobScheduler.VOLCANO, "image")).documents[0])

    assert plan.workload.environment["NCCL_DEBUG"] == "WARN"
    assert "-x NCCL_DEBUG=INFO" in text
    assert "-x NCCL_IB_TC=104" in text


@pytest.mark.parametrize(
    ("stack", "path"), [("doks-mi325x", "/etc/rccl.conf"), ("doks-h200", "/etc/nccl.conf"), ("dev", "/etc/nccl.conf")]
)
def test_the_settings_file_lies_where_the_library_of_the_gpus_looks(root: Path, stack: str, path: str) -> None:
    files = prepare_stack(stack, root).workload.files

    assert [file.mount_path for file in files if file.key == "nccl.conf"] == [path]


def test_a_settings_file_has_nothing_that_a_reader_would_take_for_part_of_a_value(
    stack_plans: tuple[Plan, ...],
) -> None:
    for plan in stack_plans:
        (content,) = [file.content for file in plan.nccl.files if file.key == "nccl.conf"]
        for line in content.splitlines():
            name, _, value = line.partition("=")
            assert name == name.strip()
            assert value == value.strip() != ""
            assert not line.startswith("#")
            assert '"' not in line


@pytest.mark.parametrize(("stack", "family"), [("doks-b300", "AF_INET6"), ("doks-h200", None), ("oke-h100", None)])
def test_nccl_is_told_the_family_of_addresses_where_it_would_not_look_for_it(
    root: Path, stack: str, family: str | None
) -> None:
    assert prepare_stack(stack, root).workload.environment.get("NCCL_IB_ADDR_FAMILY") == family


def test_what_is_for_roce_is_not_set_on_infiniband() -> None:
    shape = catalog().shapes["BM.GPU.H100.8"]
    on_roce, on_infiniband = (
        nccl_environment(catalog().nccl, shape, "virtual", link=link) for link in get_args(LinkType)
    )

    assert set(on_roce) - set(on_infiniband) == {"NCCL_IB_GID_INDEX", "NCCL_IB_TC", "NCCL_IB_SL"}
    assert on_infiniband["NCCL_IB_TIMEOUT"] == "22"


@pytest.mark.usefixtures("project")
def test_explaining_a_variable_says_what_why_for_whom_since_when_and_what_a_stack_gets() -> None:
    text = explained("NCCL_IB_SPLIT_DATA_ON_QPS", "-s", "dev")

    assert "each message is split over all queue pairs" in text
    assert "Exists: since NCCL 2.18." in text
    assert "for: BM.GPU4.8," in text
    assert "why: Keeps each message on one queue pair" in text
    assert "source: OKE quick-start, settings table per shape." in text
    assert "On stack dev: NCCL_IB_SPLIT_DATA_ON_QPS=0 for jobs and measurements, by the catalog's row above." in text


@pytest.mark.usefixtures("project")
def test_the_explained_list_of_nics_is_the_one_of_the_stacks_nic_table() -> None:
    listed = "=mlx5_0,mlx5_1,mlx5_3,mlx5_4"

    assert f"On stack host-network: NCCL_IB_HCA={listed}" in explained("NCCL_IB_HCA", "-s", "host-network")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["NCCL_CROSS_NIC"], "Known, not set: The default, 2, tries the same NIC first"),
        (["NCCL_TOPO_FILE", "-s", "dev"], "On stack dev: NCCL_TOPO_FILE=/etc/nccl/topo.xml, set by the program."),
        (["NCCL_IB_DISABLE"], "Refused in a stack file: other than 0: NCCL would leave the fabric alone"),
        (["NCCL_DEBUG", "-s", "dev"], "On stack dev: NCCL_DEBUG=INFO for measurements only"),
        (["NCCL_PXN_DISABLE", "-s", "dev"], "On stack dev: not set."),
        (["NCCL_GDR_FLUSH_DISABLE"], "Exists: in which releases is not published."),
        (["NCCL_RAS_ADDR"], "Known, not set: no document that this program follows asks for it."),
        (["RCCL_UNROLL_FACTOR"], "Exists: since RCCL 2.25.1."),
    ],
)
def test_explaining_says_where_a_variable_is_left_alone(arguments: list[str], words: str) -> None:
    assert words in explained(*arguments)


def test_the_page_of_settings_has_every_variable_every_row_and_every_reason() -> None:
    page = nccl_reference()

    for name, variable in catalog().nccl_variables.items():
        assert f"`{name}`" in page
        assert variable.not_set is None or variable.not_set in page
    for row in catalog().nccl:
        assert f"| {audience_words(row)} | {row.why} | {row.source} |" in page


def test_every_table_of_the_page_of_settings_has_as_many_cells_in_every_row() -> None:
    tables = [block.splitlines() for block in nccl_reference().split("\n\n") if block.startswith("| ")]

    assert len(tables) == 4
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table}) == 1
