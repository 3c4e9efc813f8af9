"""The built wheel in a virtual environment of its own, outside of any checkout."""

import re
import tomllib
from pathlib import Path

import pytest
from installed_wheel import Installed, built_wheel, install_in_environment

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(f"{_HERE}/"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def wheel(root: Path) -> Path:
    """The wheel of this checkout."""
    return built_wheel(root)


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel and what it needs, in a clean environment."""
    return install_in_environment(wheel, tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def installed_oldest(root: Path, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The same with the oldest versions that the wheel allows of what it needs."""
    needed = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    oldest = [re.sub(r">=([^,]+).*", r"==\1", entry) for entry in needed]
    return install_in_environment(wheel, tmp_path_factory.mktemp("oldest"), *oldest)


@pytest.fixture(scope="session")
def installed_with_pulumi(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with its extra `pulumi`."""
    return install_in_environment(wheel, tmp_path_factory.mktemp("with-pulumi"), extra="[pulumi]")


@pytest.fixture(scope="session")
def sandbox_wheel(root: Path) -> Path:
    """The wheel of this checkout's sandbox."""
    return built_wheel(root / "sandbox")


@pytest.fixture(scope="session")
def installed_sandbox(wheel: Path, sandbox_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with its extra `sandbox`, which is the other wheel."""
    return install_in_environment(wheel, tmp_path_factory.mktemp("sandbox"), str(sandbox_wheel), extra="[sandbox]")


@pytest.fixture(scope="session")
def policy_wheel(root: Path) -> Path:
    """The wheel of this checkout's policy pack."""
    return built_wheel(root / "policy")


@pytest.fixture(scope="session")
def installed_policies(wheel: Path, policy_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The policy pack's wheel in a clean environment, with the wheel that it needs."""
    return install_in_environment(policy_wheel, tmp_path_factory.mktemp("policies"), str(wheel))
