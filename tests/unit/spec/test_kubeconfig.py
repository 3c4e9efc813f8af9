"""Kubeconfig files: which can be used, and which cluster they mean."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.findings import Severity
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.kubeconfig import cluster_entry, cluster_identity, contexts_of, kubeconfig_findings, open_choice

TOKEN = "s3cr3t-token"
RENEWED = "another-token"


def kubeconfig(*, server: str = "https://one:6443", authority: str = "Q0E=", token: str = TOKEN) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "one", "user": "me"}},
            {"name": "there", "context": {"cluster": "two", "user": "me"}},
            {"name": "nowhere", "context": {"cluster": "gone", "user": "me"}},
        ],
        "clusters": [
            {"name": "one", "cluster": {"server": server, "certificate-authority-data": authority}},
            {"name": "two", "cluster": {"server": "https://two", "certificate-authority-data": authority}},
        ],
        "users": [{"name": "me", "user": {"token": token}}],
    }


def cluster(path: str | None, context: str | None = None) -> ExistingClusterSpec:
    return ExistingClusterSpec.model_construct(kubeconfig=path, context=context)


def problem(folder: Path, text: str, context: str | None = None) -> str:
    (folder / "kubeconfig").write_text(text, encoding="utf-8")
    (found,) = kubeconfig_findings(cluster("kubeconfig", context), folder)
    assert (found.id, found.path) == ("CLU001", "gpu-fabric:cluster.kubeconfig")
    assert TOKEN not in found.message + found.remedy
    return found.message


def test_a_good_kubeconfig_has_no_findings(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig()), encoding="utf-8")

    assert kubeconfig_findings(cluster("kubeconfig", "here"), tmp_path) == ()
    assert kubeconfig_findings(cluster(str(tmp_path / "kubeconfig"), "there"), Path("/elsewhere")) == ()


def test_contexts_of_several_clusters_of_which_the_stack_names_none_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig()), encoding="utf-8")

    (found,) = kubeconfig_findings(cluster("kubeconfig"), tmp_path)
    assert (found.id, found.severity, found.path) == ("CLU011", Severity.WARNING, "gpu-fabric:cluster.context")
    assert "kubeconfig has contexts of several clusters (here, there)" in found.message
    assert found.remedy == "write context: here, or the one that is meant"


def test_contexts_of_one_cluster_leave_no_choice_open(tmp_path: Path) -> None:
    one = kubeconfig()
    for user, entry in enumerate(one["contexts"]):
        entry["context"] = {"cluster": "one", "user": f"user-{user}"}
    (tmp_path / "kubeconfig").write_text(json.dumps(one), encoding="utf-8")

    assert kubeconfig_findings(cluster("kubeconfig"), tmp_path) == ()


def test_of_very_many_contexts_the_first_are_named() -> None:
    many = kubeconfig()
    for number in range(300):
        many["contexts"].append({"name": f"c{number:03}", "context": {"cluster": "two", "user": "me"}})

    (found,) = open_choice(json.dumps(many), None, "kubeconfig")
    assert "(c000, c001, c002, c003 and 298 more)" in found.message


def test_the_contexts_of_a_cluster_are_found_by_its_identity() -> None:
    text = json.dumps(kubeconfig())

    assert contexts_of(text, cluster_identity(text, "there")) == ("there",)
    assert contexts_of(text, "another") == ()
    assert contexts_of("no kubeconfig", "another") == ()


def test_a_kubeconfig_under_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig()), encoding="utf-8")

    assert kubeconfig_findings(cluster("~/kubeconfig", "here"), Path("/elsewhere")) == ()


def test_a_kubeconfig_from_a_secret_is_not_looked_for(tmp_path: Path) -> None:
    assert kubeconfig_findings(cluster(None), tmp_path) == ()


@pytest.mark.parametrize(
    ("path", "message", "remedy"),
    [
        (".sandbox/kubeconfig", ".sandbox/kubeconfig: no such file", "`make up` starts the sandbox"),
        ("a/config", "a/config: no such file", "write its real path, or name a secret key by kubeconfigSecret"),
        (".", ".: cannot be read: Is a directory", ""),
    ],
)
def test_a_kubeconfig_that_is_no_file_is_refused_with_who_writes_it(
    tmp_path: Path, path: str, message: str, remedy: str
) -> None:
    (found,) = kubeconfig_findings(cluster(path), tmp_path)

    assert found.message == message
    assert remedy in found.remedy


def test_bytes_are_no_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_bytes(b"\xff\xfe")
    (found,) = kubeconfig_findings(cluster("kubeconfig"), tmp_path)

    assert found.message == "kubeconfig: cannot be read: not a text file"


@pytest.mark.parametrize(
    ("text", "context", "reason"),
    [
        (f"token: {TOKEN}: [", None, "is not YAML"),
        (f"token: {TOKEN}\nclusters: " + "[" * 3000, None, "is not YAML"),
        ("", None, "is not a kubeconfig: it has no contexts"),
        (f"[{TOKEN}]", None, "is not a kubeconfig: it has no contexts"),
        ("contexts: []", None, "has no current context, and the stack names none"),
        ("contexts: []\ncurrent-context: [a]", None, "has no current context, and the stack names none"),
        (json.dumps(kubeconfig()), "somewhere", "has no context 'somewhere'; it has: here, nowhere, there"),
        (json.dumps(kubeconfig()), "nowhere", "context 'nowhere' leads to no cluster with a server"),
        (json.dumps(kubeconfig(server="")), None, "context 'here' leads to no cluster with a server"),
    ],
)
def test_an_unusable_kubeconfig_is_refused_with_the_reason_and_none_of_its_content(
    tmp_path: Path, text: str, context: str | None, reason: str
) -> None:
    assert problem(tmp_path, text, context) == f"kubeconfig: {reason}"


def test_an_identity_outlives_new_credentials() -> None:
    before, after = kubeconfig(), kubeconfig(token=RENEWED)

    assert cluster_identity(json.dumps(before), None) == cluster_identity(json.dumps(after), None)


@pytest.mark.parametrize("other", [{"authority": "T1RIRVI="}, {"server": "https://one:6444"}])
def test_an_identity_differs_for_another_authority_or_server(other: dict[str, str]) -> None:
    assert cluster_identity(json.dumps(kubeconfig()), None) != cluster_identity(json.dumps(kubeconfig(**other)), None)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["here", "one", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "context", "cluster", "server", "user"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    document=st.fixed_dictionaries(
        {},
        optional={
            "current-context": anything,
            "contexts": anything | st.lists(anything),
            "clusters": anything | st.lists(anything),
        },
    )
)
@settings(max_examples=80, deadline=None)
def test_a_misshapen_kubeconfig_never_fails_in_any_other_way(document: dict[str, Any]) -> None:
    with suppress(ValueError):
        assert cluster_entry(json.dumps(document), None)["server"]
