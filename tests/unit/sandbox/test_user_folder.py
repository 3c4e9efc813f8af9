"""Where the toolchain is kept: in the user's folder, whatever the environment says of it, and never at the root."""

import os
import pwd
from pathlib import Path

import pytest

from sandbox.toolchain.golang import Go, build_environment
from sandbox.toolchain.recipes import home_folder, user_cache


@pytest.mark.parametrize("home", ["", None])
@pytest.mark.parametrize("cache", ["", None])
def test_without_a_home_the_folder_is_that_of_the_systems_list_of_users(
    monkeypatch: pytest.MonkeyPatch, home: str | None, cache: str | None
) -> None:
    for name, value in (("HOME", home), ("XDG_CACHE_HOME", cache)):
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    own = pwd.getpwuid(os.getuid()).pw_dir

    assert home_folder() == own
    assert user_cache() == Path(own) / ".cache" / "gpu-fabric"
    assert build_environment(Go(Path("/usr/bin/go"), (1, 26)))["HOME"] == own


def test_a_folder_that_is_named_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert user_cache() == tmp_path / ".cache" / "gpu-fabric"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert user_cache() == tmp_path / "cache" / "gpu-fabric"


def test_go_collects_no_garbage_below_a_gibibyte_unless_the_machine_says_when(monkeypatch: pytest.MonkeyPatch) -> None:
    go = Go(Path("/usr/bin/go"), (1, 26))
    for name in ("GOGC", "GOMEMLIMIT"):
        monkeypatch.delenv(name, raising=False)
    assert {("GOGC", "off"), ("GOMEMLIMIT", "1GiB")} <= build_environment(go).items()

    monkeypatch.setenv("GOGC", "50")
    assert build_environment(go)["GOGC"] == "50"
