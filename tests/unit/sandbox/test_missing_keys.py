"""A user hears which chart values have no effect in the sandbox, because the stand-in chart lacks the key."""

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
    return list(values_without_effect(spec, prepare(changed, for_up=False).plan))


LISTED = missing_keys()
DRIVER = {"driver": {"upgradePolicy": {"autoUpgrade": False}}}
NAMED = {"values": {"nameOverride": "mine"}}
OPERATOR = {"operator": {"useDTK": False}, "sriov-network-operator": {"operator": {"affinity": {}}}}


@pytest.mark.parametrize(
    ("stack", "software", "lines"),
    [
        # by the highest key that it lacks
        ("dev", {"gpuOperator": {"values": DRIVER}}, ["gpu-operator", "driver.upgradePolicy: it has no effect in "]),
        (
            "dev",
            {"networkOperator": {"values": OPERATOR}},
            ["network-operator", "operator.useDTK, sriov-network-operator.operator.affinity: they have no effect in "],
        ),
        ("dev", {"schedulers": {"jobSet": NAMED, "leaderWorkerSet": NAMED}}, ["jobset", "", "lws", ""]),
        ("dev", {"gpuOperator": {"values": {"driver": {"version": "580.1"}}}}, []),
        ("dev", {}, []),
        # The real charts heed every value, and of some the real ones' values are not known.
        ("dev", {"charts": "upstream", "gpuOperator": {"values": DRIVER}}, []),
        ("whereabouts", {"whereabouts": {"values": {"serviceAccount": {"create": True}}}}, []),
    ],
)
def test_a_value_that_the_users_stand_in_does_not_have_is_named(
    stack: str, software: dict[str, Any], lines: list[str]
) -> None:
    found = said(software, stack)
    assert [line.partition(":")[0] for line in found] == lines[::2]
    for line, keys in zip(found, lines[1::2], strict=True):
        assert f": the stand-in chart does not have {keys}" in line


def test_a_chart_without_a_stand_in_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {line: {name: keys for name, keys in charts.items() if name != "jobset"} for line, charts in LISTED.items()}
    monkeypatch.setattr("sandbox.missing_keys.missing_keys", lambda: known)

    (line,) = said({"schedulers": {"jobSet": NAMED}})
    assert line == "jobset: the sandbox has no stand-in of this chart, so it cannot be installed there"


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
