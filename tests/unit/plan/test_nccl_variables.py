"""NCCL's variables: what a stack file sets itself, what a measurement sets on top, and what is said of each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from changes import Changes
from typer.testing import CliRunner

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.nccl import NcclTable, nccl_environment
from gpu_fabric.catalog.reading import CatalogError, read_model
from gpu_fabric.catalog.shape import LinkType
from gpu_fabric.catalog.version import Version
from gpu_fabric.cli.app import app
from gpu_fabric.nccl.name_list import NameList
from gpu_fabric.plan import Plan
from gpu_fabric.workloads.nccl_test import JobScheduler, NcclTest, manifest_text, nccl_test

PlanWith = Callable[[Changes], Plan]


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
    "limits": {"NCCL_IB_TC": {"least": 0, "most": 255, "source": "manual"}},
}


def explained(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["explain", *arguments])

    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


@pytest.mark.parametrize(
    ("name", "first", "before", "last", "after"),
    [
        ("NCCL_NET_OPTIONAL_RECV_COMPLETION", "2.24.3", "2.23.4", "2.30.7", None),
        ("NCCL_IB_RESILIENCY_PORT_RECOVERY", "2.30", "2.29.7", "2.30.7", None),
        ("NCCL_MNNVL", None, None, "2.20.5", "2.21.5"),
    ],
)
def test_a_variable_is_there_from_its_first_release_to_its_last(
    name: str, first: str | None, before: str | None, last: str, after: str | None
) -> None:
    variable = catalog().nccl_variables[name]

    assert not first or not variable.newer_than(Version.parse(first))
    assert not before or variable.newer_than(Version.parse(before))
    assert not variable.older_than(Version.parse(last))
    assert not after or variable.older_than(Version.parse(after))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"since": "soon"}, "variables.0.since"),
        ({"settings": [{"value": "41", "why": "w", "source": "s"}]}, "variables.0.settings.0.scope: Field required"),
        ({"settings": [{"value": "41", "scope": "both", "why": "", "source": "s"}]}, "variables.0.settings.0.why"),
        ({"settings": [{"value": "41", "scope": "jobs", "why": "w", "source": "s"}]}, "variables.0.settings.0.scope"),
        ({"source": None}, "variables.0.source"),
    ],
)
def test_an_entry_that_contradicts_itself_is_refused_with_its_file(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "nccl.yaml"
    path.write_text(yaml.safe_dump(TABLE), encoding="utf-8")
    assert set(read_model(NcclTable, path).known) == {"NCCL_IB_TC", "NCCL_NTHREADS"}

    known = TABLE["variables"]["NCCL_IB_TC"]
    wrong = change if change.keys() <= NcclTable.model_fields.keys() else {"variables": {"NCCL_IB_TC": known | change}}
    path.write_text(yaml.safe_dump(TABLE | wrong), encoding="utf-8")

    with pytest.raises(CatalogError) as refused:
        read_model(NcclTable, path)
    assert str(refused.value).startswith("nccl.yaml: ")
    assert reason in str(refused.value)


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


def test_a_measurement_keeps_its_own_settings_whatever_jobs_are_told(plan_with: PlanWith) -> None:
    plan = plan_with({"fabric.nccl.settings": {"NCCL_DEBUG": "WARN", "NCCL_IB_TC": 104}})
    text = manifest_text(nccl_test(plan.workload, NcclTest(JobScheduler.VOLCANO, "image")).documents[0])

    assert plan.workload.environment["NCCL_DEBUG"] == "WARN"
    assert "-x NCCL_DEBUG=INFO" in text
    assert "-x NCCL_IB_TC=104" in text


def test_what_is_for_roce_is_not_set_on_infiniband() -> None:
    shape = catalog().shapes["BM.GPU.H100.8"]
    on_roce, on_infiniband = (
        nccl_environment(catalog().nccl, shape, "virtual", link=link) for link in get_args(LinkType)
    )

    assert set(on_roce) - set(on_infiniband) == {"NCCL_IB_GID_INDEX", "NCCL_IB_TC", "NCCL_IB_SL"}
    assert on_infiniband["NCCL_IB_TIMEOUT"] == "22"


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
        (["NCCL_IB_HCA", "-s", "host-network"], "On stack host-network: NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_3,mlx5_4"),
        (["NCCL_IB_SL", "-s", "dev"], "NCCL_IB_SL=0 for jobs and measurements, by the catalog's row above."),
        (["NCCL_RAS_ADDR"], "Known, not set: no document that this program follows asks for it."),
        (["RCCL_UNROLL_FACTOR"], "Exists: since RCCL 2.25.1."),
    ],
)
def test_explaining_says_where_a_variable_is_left_alone(arguments: list[str], words: str) -> None:
    assert words in explained(*arguments)
