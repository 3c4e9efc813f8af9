"""What messages say of an installed simulator, and where bundled charts are."""

from pathlib import Path

import pytest

from gpu_fabric.base import simulators
from gpu_fabric.base.simulators import chart_folder, simulator_of
from gpu_fabric.spec.kubeconfig import file_findings

CHART = "sandbox/charts/26.7/jobset"


@pytest.mark.parametrize(
    ("kubeconfig", "remedy"),
    [(".sandbox/kubeconfig", "`make up` starts the sandbox, which writes it"), ("mine", "write its real path")],
)
def test_a_kubeconfig_that_does_not_exist_is_written_by_the_simulator_whose_folder_it_is_in(
    kubeconfig: str, remedy: str, tmp_path: Path
) -> None:
    (found,) = file_findings(kubeconfig, None, tmp_path)

    assert found.remedy == f"{remedy}, or name a secret key by kubeconfigSecret"


def test_without_a_simulator_nothing_is_said_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulators, "simulators", tuple)

    assert simulator_of(".sandbox/kubeconfig") is None
    assert chart_folder(CHART, tmp_path) == tmp_path / CHART


def test_a_bundled_chart_is_the_projects_own_else_that_of_the_package(root: Path, tmp_path: Path) -> None:
    assert chart_folder(CHART, tmp_path) == root / CHART
    (tmp_path / CHART).mkdir(parents=True)
    assert chart_folder(CHART, tmp_path) == tmp_path / CHART
