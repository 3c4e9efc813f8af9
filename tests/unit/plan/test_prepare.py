"""From a document to a plan: everything that is wrong, said at once."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpu_fabric.cli.app import app
from gpu_fabric.findings import ConfigurationError, Severity
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.stack_text import StackDocument

DocumentWith = Callable[[Any], StackDocument]

KUBECONFIG = {
    "current-context": "here",
    "contexts": [{"name": "here", "context": {"cluster": "one"}}],
    "clusters": [{"name": "one", "cluster": {"server": "https://one"}}],
}


def refusals(document: StackDocument, *, for_up: bool = True) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationError) as refused:
        prepare(document, for_up=for_up)
    return [(entry.id, entry.path.removeprefix("gpu-fabric:")) for entry in refused.value.findings]


@pytest.fixture
def elsewhere(document_with: DocumentWith, tmp_path: Path) -> DocumentWith:
    """The development stack in a folder without a kubeconfig, with some values changed."""
    return lambda changes: document_with(changes).model_copy(update={"root": tmp_path})


@pytest.fixture
def with_cluster(elsewhere: DocumentWith, tmp_path: Path) -> DocumentWith:
    """The same in a folder with a good kubeconfig."""
    (tmp_path / ".sandbox").mkdir()
    (tmp_path / ".sandbox" / "kubeconfig").write_text(json.dumps(KUBECONFIG), encoding="utf-8")
    return elsewhere


def test_for_planning_alone_a_missing_kubeconfig_is_a_warning(elsewhere: DocumentWith) -> None:
    first = prepare(elsewhere({}), for_up=False).plan.findings[0]

    assert (first.id, first.severity) == ("CLU003", Severity.WARNING)
    assert first.message == ".sandbox/kubeconfig: no such file"


def test_faults_of_every_kind_come_together(elsewhere: DocumentWith) -> None:
    found = refusals(
        elsewhere(
            {
                "fabric.mtuu": 1,
                "software.releaseLine": 26.4,
                "cluster.pools[0].shape": "BM.GPU.H1OO.8",
                "cluster.pools[0].nodes": 0,
                "fabric.addressing.supernet": "192.168.0.0/28",
                "fabric.mtu": 9001,
            }
        )
    )

    assert sorted(found) == [
        ("ADR007", "fabric.addressing.supernet"),
        ("CLU001", "cluster.kubeconfig"),
        ("NET001", "fabric.mtu"),
        ("SPC001", "fabric.mtuu"),
        ("SPC002", "cluster.pools[0].nodes"),
        ("SPC002", "cluster.pools[0].shape"),
        ("SPC002", "software.releaseLine"),
    ]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("cluster.provider", "exsting"),
        ("cluster.provider", None),
        ("cluster.pools", None),
        ("cluster.pools[0]", "gpu"),
        ("cluster.pools[0].shape", "none of these"),
        ("cluster.pools[0].nodes", "3"),
        ("cluster.pools[0].nodeNames", ["a", "a", "b"]),
        ("cluster.ranges.pods", "x"),
        ("fabric.addressing.supernet", "x"),
        ("fabric.addressing.exclude", ["192.168.0.9-192.168.0.1"]),
        ("fabric.manager", "nvidia"),
        ("fabric.rails", [{"interface": "rdma0"}]),
        ("software.gpuOperator.driver", "yes"),
    ],
)
def test_one_faulty_value_hides_no_other_problem_and_invents_none(
    elsewhere: DocumentWith, place: str, value: Any
) -> None:
    faulty, *others = refusals(elsewhere({place: value}))

    assert faulty[1].startswith(place)
    assert others == [("CLU001", "cluster.kubeconfig")]


def test_a_kubeconfig_from_a_secret_needs_no_file(elsewhere: DocumentWith, dev_plan: Plan) -> None:
    secret = {"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access", "access": {"secure": "s3cr3t"}}
    plan = prepare(elsewhere(secret), for_up=True).plan

    assert plan.findings == dev_plan.findings
    assert plan.cluster.kubeconfig_secret == "access"
    assert "s3cr3t" not in plan.model_dump_json()


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access"}, "cluster.kubeconfigSecret"),
        (
            {"fabric.manager": "spiderpool", "software.spiderpool.tls": {"method": "provided", "secret": "access"}},
            "software.spiderpool.tls.secret",
        ),
    ],
)
def test_a_plan_says_which_secret_up_will_miss(with_cluster: DocumentWith, changes: dict[str, Any], place: str) -> None:
    document = with_cluster(changes)
    with_secret = document.model_copy(update={"sections": {**document.sections, "access": None}})
    found = [entry for entry in prepare(document, for_up=False).plan.findings if entry.id == "CLU012"]

    assert [(entry.path, entry.severity) for entry in found] == [(f"gpu-fabric:{place}", Severity.WARNING)]
    assert "CLU012" not in {entry.id for entry in prepare(with_secret, for_up=False).plan.findings}


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_a_stack_that_can_only_be_planned_says_so_in_every_format(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    text = (root / "examples/Pulumi.oke-h200.yaml").read_text(encoding="utf-8")
    text = text.replace("gpu-fabric:fabric:", "gpu-fabric:fabric:\n    model: macvlan")
    (tmp_path / "Pulumi.try.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["plan", "-s", "try", "--format", form])

    assert shown.exit_code == 0
    assert "SUP010" in shown.stdout
