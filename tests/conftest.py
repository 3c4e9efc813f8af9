"""What every tier starts from: the repository and its development stack."""

from __future__ import annotations

import fcntl
import gc
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

import pytest
import typer.testing
from hypothesis import settings

from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.stack_text import StackDocument
from sandbox.toolchain.recipes import user_cache

T = TypeVar("T")

# How long a drawn case takes depends on what else the machine does.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """A command line that a test runs is the one of the test before: making it takes longer than most commands."""
    with patch.object(typer.testing, "_get_command", cache(typer.main.get_command)):
        yield


@pytest.fixture(scope="session")
def dev_document(root: Path) -> StackDocument:
    """The development stack as written, before validation."""
    return read_document("dev", root)


# Seconds each, for what a shorter test of the same file shows in part.
SLOW = frozenset(
    {
        "test_a_17_holds_a_31_for_each_of_2048_nodes_and_8_rails_and_nothing_more",
        "test_a_check_for_drift_looks_into_the_releases_whatever_the_refresh_finds",
        "test_a_comment_of_many_stacks_keeps_its_limit_and_counts_what_it_leaves_out",
        "test_a_file_of_thousands_of_documents_stays_to_the_byte_around_the_one_that_trains",
        "test_a_large_plan_says_its_steps_and_leaves_one_line_about_its_files",
        "test_a_node_pool_keeps_its_image_until_its_version_changes",
        "test_a_plan_grows_to_its_most_nodes_and_no_further",
        "test_a_refusal_after_long_work_is_all_that_is_left",
        "test_a_report_has_the_same_bytes_and_stands_alone_whoever_watches",
        "test_a_scalar_that_is_taken_has_one_value_in_both_parsers",
        "test_a_stack_imports_no_clouds_sdk",
        "test_a_text_of_others_names_and_values_without_end_fits_and_says_how_long_they_are",
        "test_any_two_plans_can_be_compared",
        "test_any_two_plans_can_be_judged_and_told_within_a_comment",
        "test_documents_are_utf_8_whatever_the_terminal_has",
        "test_every_encoding_of_a_terminal_is_printed_to",
        "test_every_property_of_every_cloud_resource_is_judged_as_the_simulated_clouds_judge_it",
        "test_every_remedy_of_a_refusal_fits",
        "test_every_stack_that_can_be_planned_can_be_reported",
        "test_every_type_of_a_cloud_that_a_stack_has_is_in_the_table",
        "test_no_plan_is_a_danger_to_itself",
        "test_no_single_change_is_said_to_fit_only_where_none_of_the_stated_keys_can_be_left_out",
        "test_nothing_is_shown_in_a_pipe_that_is_told_to_have_colours",
        "test_on_one_terminal_the_report_is_all_that_is_left",
        "test_the_guard_stops_random_edits_by_which_an_address_changes_hands_and_no_others",
        "test_the_plan_of_every_kind_of_stack_survives_the_folder",
        "test_thousands_of_nodes_fit_in_a_comment_and_the_text_says_what_is_only_counted",
        "test_what_a_deletion_takes_along_is_said_of_clusters_pools_and_addresses",
    }
)


# Of a test with more cases, `make test-fast` runs so many, spread evenly; and so many of those that hypothesis draws.
CASES = 4
# Folders whose tests wait for others' processes: begun first, they leave a processor free for the rest, and a long file
# of theirs does not come last, when only one worker has something left to do.
WAITING = ("sandbox", "engine", "cni", "browser")
# Folders with tests of programs that few tests need. Those of the files below need none of them, and begin while
# `make test` still builds; the others come later.
BUILT_FOR = ("sandbox", "engine", "ipam", "alarms")
CORE_ALONE = frozenset(
    {
        "test_attach_transform_engine",
        "test_automation",
        "test_automation_up",
        "test_cloud_clusters",
        "test_clusters_in_a_program",
        "test_doks_faults",
        "test_doks_secrets",
        "test_doks_stacks",
        "test_drift",
        "test_guarded_up",
        "test_helm_post_renderer",
        "test_interruptions",
        "test_kubectl_plug_in",
        "test_kustomize_commands",
        "test_main_job",
        "test_moved_cluster",
        "test_new_projects",
        "test_plain_pulumi",
        "test_policy_pack",
        "test_preflight",
        "test_preview",
        "test_readiness",
        "test_registry_login",
        "test_shell_and_workflows",
        "test_split_pair",
        "test_templates",
        "test_written_stacks",
    }
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--build", default="", help="binaries and groups of the sandbox, built while the first tests run")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to build what few tests need; what is said of it goes to the terminal."""
    if hasattr(config, "workerinput") or not (names := config.getoption("--build").split()):
        return
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        building = subprocess.Popen([sys.executable, "-m", "sandbox", "build", *names], stdout=subprocess.DEVNULL)

    def end() -> None:
        # As by Ctrl-C: it ends the compiler, and what is built stays.
        building.send_signal(signal.SIGINT)
        building.wait()

    config.add_cleanup(end)
    while building.poll() is None and not is_building():
        time.sleep(0.1)


def is_building() -> bool:
    """Whether some process of this user builds for the sandbox."""
    try:
        wait_for_builds(fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def wait_for_builds(how: int = 0) -> None:
    """Wait for whoever builds for the sandbox."""
    lock = user_cache() / "toolchain" / "lock"
    if lock.exists():
        with lock.open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | how)


def needs_builds(path: Path) -> bool:
    """Whether a file's tests may need more than what is built before the first test."""
    return path.parent.name in BUILT_FOR and path.stem not in CORE_ALONE


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Wait for what is built meanwhile before the time of a test begins."""
    if item.config.getoption("--build") and needs_builds(item.path):
        wait_for_builds()
    return (yield)


def spread(cases: Sequence[T]) -> list[T]:
    """The cases that `make test-fast` runs."""
    return [case for place, case in enumerate(cases) if place in {len(cases) * kept // CASES for kept in range(CASES)}]


def together(test: Callable[..., None]) -> Iterator[list[tuple[str, object]]]:
    """The cases that a test runs itself (`each_case`)."""
    while (cases := getattr(test, "cases", None)) is not None:
        yield cases
        test = test.__wrapped__  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Leave out at once what `make test-fast` would leave out later, and let hypothesis draw fewer cases there."""
    yield
    if metafunc.config.option.markexpr == "not slow":
        metafunc._calls = spread(metafunc._calls)
        for cases in together(metafunc.function):
            cases[:] = spread(cases)
        if drawn := getattr(metafunc.function, "_hypothesis_internal_use_settings", None):
            fewer = settings(drawn, max_examples=min(CASES, drawn.max_examples))
            metafunc.function._hypothesis_internal_use_settings = fewer


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `make test-fast` leaves to `make test`, and order the files so that workers share them well."""
    # Files that say so themselves have few tests, each of which takes long.
    long = {item.path for item in items if item.get_closest_marker("slow") is not None}
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        cases.setdefault((item.path, getattr(item, "originalname", item.name)), []).append(item)
    for (_, name), found in cases.items():
        kept = [] if name in SLOW else spread(found)
        for item in found:
            if item not in kept:
                item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):
        files = Counter(item.path for item in items)
        items.sort(
            key=lambda item: (
                item.path.parent.name not in WAITING,
                needs_builds(item.path),
                item.path not in long,
                -files[item.path],
            )
        )


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what stays to the end: all the tests, and every module."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
