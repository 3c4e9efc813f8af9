"""A user hears which chart values have no effect in the sandbox, because the stand-in chart lacks the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document, validate
from sandbox.cli import app, main
from sandbox.crds import CHARTS
from sandbox.home import HOME_VARIABLE, project_root
from sandbox.missing_keys import missing_keys, values_without_effect


def said(software: dict[str, Any], stack: str = "dev") -> list[str]:
    """The lines about a committed stack with changes to its section `software`."""
    document = read_document(stack, project_root())
    sections = {**document.sections, "software": {"charts": "bundled", **software}}
    changed = document.model_copy(update={"sections": sections})
    spec = validate(changed)[0]
    assert spec is not None
    return list(values_without_effect(spec, prepare(changed, for_up=False)))


def test_a_value_that_the_stand_in_does_not_have_is_named_by_the_highest_key_that_it_lacks() -> None:
    values = {"driver": {"upgradePolicy": {"autoUpgrade": False}}}
    assert said({"gpuOperator": {"values": values}}) == [
        "gpu-operator: the stand-in chart does not have driver.upgradePolicy: it has no effect in the sandbox"
    ]


def test_several_values_of_a_chart_are_named_in_one_line() -> None:
    values = {"operator": {"useDTK": False}, "sriov-network-operator": {"operator": {"affinity": {}}}}
    assert said({"networkOperator": {"values": values}}) == [
        "network-operator: the stand-in chart does not have operator.useDTK, "
        "sriov-network-operator.operator.affinity: they have no effect in the sandbox"
    ]


def test_each_chart_has_a_line_of_its_own_schedulers_included() -> None:
    values = {"values": {"nameOverride": "mine"}}
    lines = said({"schedulers": {"jobSet": values, "leaderWorkerSet": values}})
    assert [line.partition(":")[0] for line in lines] == ["jobset", "lws"]


def test_a_value_that_the_stand_in_has_is_not_named() -> None:
    assert said({"gpuOperator": {"values": {"driver": {"version": "580.1"}}}}) == []


def test_values_that_the_user_did_not_write_are_not_named() -> None:
    assert said({}) == []


def test_the_real_charts_heed_every_value() -> None:
    values = {"driver": {"upgradePolicy": {"autoUpgrade": False}}}
    assert said({"charts": "upstream", "gpuOperator": {"values": values}}) == []


def test_of_a_chart_whose_real_values_are_not_known_nothing_is_named() -> None:
    values = {"values": {"serviceAccount": {"create": True}}}
    assert said({"whereabouts": values}, "whereabouts") == []


def test_the_list_has_every_stand_in() -> None:
    found = {f"{line}/{name}" for line, charts in missing_keys().items() for name in charts}
    assert found == {str(path.parent.relative_to(CHARTS)) for path in CHARTS.glob("*/*/Chart.yaml")}


@pytest.mark.parametrize(("verb", "count"), [("up", 1), ("preview", 1), ("destroy", 0), ("outputs", 0)])
def test_the_line_is_printed_where_a_stack_is_brought_up_or_previewed_on_the_sandbox(
    verb: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = yaml.safe_load((project_root() / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    values = {"driver": {"upgradePolicy": {"autoUpgrade": False}}}
    file["config"]["gpu-fabric:software"] = {"charts": "bundled", "gpuOperator": {"values": values}}
    (tmp_path / "Pulumi.mine.yaml").write_text(yaml.safe_dump(file), encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setattr("sandbox.cli.project_root", lambda: tmp_path)
    monkeypatch.setattr("sandbox.cli.ensure", lambda *_: None)
    monkeypatch.setattr("sandbox.engine.commands.SandboxEngine", _Engine)
    with pytest.raises(SystemExit):
        main(lambda: app(["pulumi", verb, "-s", "mine", "--sandbox"]))
    assert capsys.readouterr().err.count("gpu-operator: the stand-in chart does not have") == count


class _Engine:
    """An engine that does nothing."""

    def __init__(self, *_: object) -> None:
        pass

    def up(self, *_: object, **__: object) -> int:
        return 0

    preview = destroy = up

    def outputs(self, *_: object, **__: object) -> str:
        return ""
