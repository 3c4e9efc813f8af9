"""The text of a stack file: what parsers read differently, what unfolds without end, and where things stand."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.findings import ConfigurationError, Place
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from gpu_fabric.spec.network_types import parse_network, parse_span
from gpu_fabric.spec.stack_text import DAYS, StackTextError, parsed, places

FILE = """\
config:
  gpu-fabric:cluster:
    provider: existing
    kubeconfig: kubeconfig
    pools: [{{name: gpu, shape: BM.GPU4.8, nodes: {nodes}}}]
  gpu-fabric:fabric:
    addressing: {{supernet: 192.168.0.0/16}}
"""


def said(scalar: str) -> list[str]:
    text = parsed(f"config:\n  gpu-fabric:fabric: {{mtu: {scalar}}}\n")
    return [f"{entry.path}: {entry.problem}" for entry in text.unclear]


def refusal(tmp_path: Path, text: str) -> ConfigurationError:
    (tmp_path / "Pulumi.lab.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as refused:
        prepare(read_document("lab", tmp_path), for_up=False)
    return refused.value


@pytest.mark.parametrize(
    "number", ["1:30", "010", "1_0", "1e3", "0o14", "0x1F", "0b11", "+5", ".5", "1.", "12e03", "08"]
)
def test_a_number_that_is_not_plain_decimal_is_refused_at_its_place(tmp_path: Path, number: str) -> None:
    refused = refusal(tmp_path, FILE.format(nodes=number))

    assert [(entry.id, entry.path) for entry in refused.findings] == [("SPC005", "gpu-fabric:cluster.pools[0].nodes")]
    assert "Pulumi.lab.yaml:5:43: error SPC005 gpu-fabric:cluster.pools[0].nodes: is not a plain decimal number" in str(
        refused
    )


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off"])
def test_a_word_that_is_a_truth_value_to_some_readers_is_refused(word: str) -> None:
    assert "true or false to some readers" in said(word)[0]


@pytest.mark.parametrize(
    "value", ["!!set {a, b}", "!!omap [a: 1]", "!!pairs [a: 1]", "!!binary aGk=", "1234567890123456"]
)
def test_a_value_that_the_engine_makes_another_of_is_refused(value: str) -> None:
    assert len(said(value)) == 1


def test_the_keys_that_take_a_day_are_those_of_the_schema(root: Path) -> None:
    def days(schema: Any) -> set[str]:
        inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
        own = schema.get("properties", {}) if isinstance(schema, dict) else {}
        forms = {key: value.get("anyOf", [value]) for key, value in own.items() if isinstance(value, dict)}
        found = {key for key, options in forms.items() if any(option.get("format") == "date" for option in options)}
        return found.union(*map(days, inside))

    assert days(json.loads((root / "docs/schema/stack.json").read_text())) == DAYS


@pytest.mark.parametrize("date", ["2026-01-31", "2026-1-3", "2026-01-31 10:00:00", "2026-01-31T10:00:00Z"])
def test_a_date_is_refused_without_quotes_unless_the_key_takes_a_day(date: str) -> None:
    assert "a date to some readers" in said(date)[0]
    for key in DAYS:
        assert parsed(f"config:\n  gpu-fabric:guard: {{acknowledge: [{{{key}: {date}}}]}}\n").unclear == ()


@pytest.mark.parametrize(
    "scalar",
    [
        "0",
        "-3",
        "42",
        "26.4",
        "true",
        "False",
        "~",
        "15b3",
        "101e",
        "1.36.1-do.0",
        '"1:30"',
        "'010'",
        '"yes"',
        '"2026-01-31"',
        "2026-13",
        "192.168.0.0/16",
        "0000:0c:00.0",
        "ocid1.vcn.oc1.iad.aaaa",
        "v1.2",
        "e3",
        "1-2",
        "10.0.0.1",
    ],
)
def test_what_all_parsers_read_alike_is_taken(scalar: str) -> None:
    assert said(scalar) == []


def value_in_go(text: str) -> Any:
    """What gopkg.in/yaml.v3 makes of a plain scalar, by its resolve.go: numbers, else the text."""
    plain = text.replace("_", "")
    for pattern, base in ((r"[-+]?0[xX][0-9a-fA-F]+", 16), (r"[-+]?0b[01]+", 2), (r"[-+]?0o[0-7]+", 8)):
        if re.fullmatch(pattern, plain):
            return int(plain, base)
    if re.fullmatch(r"[-+]?0[0-7]+", plain):
        return int(plain, 8)
    if re.fullmatch(r"[-+]?[0-9]+", plain) and not re.fullmatch(r"[-+]?0[0-9]+", plain):
        return int(plain)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", plain):
        return float(plain)
    return text


@given(st.from_regex(r"[-+]?[0-9][0-9_.:eExob+-]{0,8}", fullmatch=True))
def test_a_scalar_that_is_taken_has_one_value_in_both_parsers(scalar: str) -> None:
    try:
        text = parsed(f"config: {{gpu-fabric:fabric: [{scalar}]}}\n")
    except StackTextError:
        return
    value = text.content["config"]["gpu-fabric:fabric"][0]
    if text.unclear or not isinstance(value, (int, float, str)):
        return

    assert (type(value), value) == (type(value_in_go(scalar)), value_in_go(scalar))


STRANGE_KEYS = ["2026-01-01", "2026-01-01T00:00:00Z", "!!binary aGk=", "!!float 3", ".inf", "1.5", "null", "true"]


@pytest.mark.parametrize("key", STRANGE_KEYS)
@pytest.mark.parametrize(
    ("section", "inside"),
    [
        ("cluster", "provider: existing, pools: [{{{key} : 2}}]"),
        ("cluster", "provider: existing, shapes: {{own: {{{key} : 2}}}}"),
        ("cluster", "provider: existing, shapes: {{{key} : {{}}}}"),
        ("software", "gpuOperator: {{values: {{{key} : {{{key} : 1}}}}}}"),
        ("fabric", "nccl: {{settings: {{{key} : 1}}}}"),
        ("guard", "{key} : 1"),
    ],
)
def test_a_key_of_any_type_is_refused_wherever_it_is(tmp_path: Path, section: str, inside: str, key: str) -> None:
    refused = refusal(tmp_path, f"config:\n  gpu-fabric:{section}: {{{inside.format(key=key)}}}\n")

    assert "a key must be a text" in str(refused)
    assert all(entry.path and entry.remedy for entry in refused.findings)


@pytest.mark.parametrize("key", ["? [a]", "? {a: b}", "? &x [a]"])
@pytest.mark.parametrize("text", ["config: {{gpu-fabric:cluster: {{{key} : 2}}}}", "{{config: {{}}, {key} : 2}}"])
def test_a_list_or_a_mapping_for_a_key_is_refused_where_it_is(tmp_path: Path, text: str, key: str) -> None:
    whole = text.format(key=key)
    (found,) = (refused := refusal(tmp_path, whole)).findings

    assert found.message == "a key is a list or a mapping"
    assert f"Pulumi.lab.yaml:1:{whole.index('?') + 3}: " in str(refused)


@pytest.mark.parametrize(
    ("section", "place"),
    [
        ("fabric: {nccl: {settings: {NCCL-IB-HCA: mlx5_0}}}", "fabric.nccl.settings.NCCL-IB-HCA"),
        ("fabric: {nccl: {settings: {'': 1}}}", "fabric.nccl.settings."),
        ("fabric: {nccl: {settings: {" + "N" * 200 + ": 1}}}", "fabric.nccl.settings." + "N" * 200),
        ("software: {registries: {'a b': {host: example.org}}}", "software.registries.a b"),
        ("cluster: {provider: oke, vcn: {subnets: {nodez: 10.0.0.0/24}}}", "cluster.vcn.subnets.nodez"),
    ],
)
def test_a_key_that_has_not_the_form_of_its_mapping_is_refused(tmp_path: Path, section: str, place: str) -> None:
    refused = refusal(tmp_path, f"config:\n  gpu-fabric:{section}\n")

    said_there = [entry for entry in refused.findings if entry.path.replace('"', "") == f"gpu-fabric:{place}"]
    assert said_there
    assert all(entry.message and entry.remedy for entry in refused.findings)


@pytest.mark.parametrize("key", ['"a\\e[31m"', '"a\\u202eb"', "k" * 100_000])
def test_a_key_that_is_there_twice_is_shown_so_that_a_terminal_bears_it(tmp_path: Path, key: str) -> None:
    text = str(refusal(tmp_path, f"config:\n  ? {key}\n  : 1\n  ? {key}\n  : 2\n"))

    assert "is there twice" in text
    assert len(text) < 500
    assert text.replace("\n", "").isprintable()


# Scalars that have the form or the tag of a type whose values they are not.
MISFITS = {
    "2026-13-01": "is a date that does not exist",
    "0000-01-01": "is a date that does not exist",
    "2026-01-01T25:00:00Z": "is a date that does not exist",
    "2026-01-01T00:00:00+99:00": "is a date that does not exist",
    "!!timestamp tomorrow": "is a date that does not exist",
    '!!timestamp ""': "is a date that does not exist",
    "!!int x": "is marked as a number and is none",
    '!!int ""': "is marked as a number and is none",
    "!!int 09": "is marked as a number and is none",
    "!!float .": "is marked as a number and is none",
    "!!bool maybe": "is marked as a truth value and is none",
    "9" * 5000: "is a number of more than 15 digits",
}


@pytest.mark.parametrize(("scalar", "problem"), MISFITS.items(), ids=[text[:30] for text in MISFITS])
def test_a_value_that_is_none_of_its_type_is_refused_where_it_is_ours_and_a_text_elsewhere(
    scalar: str, problem: str
) -> None:
    assert said(scalar) == [f"gpu-fabric:fabric.mtu: {problem}"]
    assert said(f"{{? {scalar} : 1}}")[0].endswith((problem, "a key must be a text"))

    beside = parsed(f"? {scalar}\n: {scalar}\nconfig:\n  ? {scalar}\n  : {scalar}\n  aws:expires: {scalar}\n")
    assert beside.unclear == ()
    assert beside.content["config"]["aws:expires"] == scalar.rpartition(" ")[2].strip('"')


def test_two_keys_of_which_one_would_be_lost_are_both_named() -> None:
    unclear = parsed("config:\n  gpu-fabric:software: {true: a, yes: b}\n").unclear

    assert [entry.path for entry in unclear] == ["gpu-fabric:software.true", "gpu-fabric:software.yes"]


@pytest.mark.parametrize(
    ("scalar", "problem"),
    [('"a\\e[31mred"', "holds the control character '\\x1b'"), ('"a\\0b"', "holds the control character '\\x00'")],
)
def test_a_value_that_cannot_be_kept_is_refused_by_what_it_is(scalar: str, problem: str) -> None:
    assert said(scalar) == [f"gpu-fabric:fabric.mtu: {problem}"]


def test_a_control_character_in_a_key_is_printed_by_its_number(tmp_path: Path) -> None:
    text = str(refusal(tmp_path, FILE.format(nodes=1) + '  "gpu-fabric:\\e[31mred": 1\n'))

    assert "\x1b" not in text
    assert "gpu-fabric:\\x1b[31mred" in text


def test_what_another_program_configures_is_not_judged() -> None:
    assert parsed("config:\n  other:key: {a: 010, 8: yes}\n").unclear == ()


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    refused = refusal(tmp_path, FILE.format(nodes="1:30").replace("supernet", "super"))

    assert {(entry.id, refused.place(entry.path)) for entry in refused.findings} >= {
        ("SPC005", Place(5, 43)),
        ("SPC001", Place(7, 18)),
    }


def _levels(first: str, each: str) -> str:
    return first + "".join(each.format(this=level, below=level - 1) for level in range(1, 25))


BOMBS = {
    "lists": _levels("x0: &a0 [x]\n", "x{this}: &a{this} [" + ", ".join(["*a{below}"] * 9) + "]\n"),
    "maps": _levels(
        "x0: &a0 {k: v}\n", "x{this}: &a{this} {{" + ", ".join(f"k{n}: *a{{below}}" for n in range(8)) + "}}\n"
    ),
    "merge keys": _levels("x0: &a0 {k: v}\n", "x{this}: &a{this} {{<<: [" + ", ".join(["*a{below}"] * 9) + "]}}\n"),
    "a long text": "x0: &a0 " + "y" * 100_000 + "\nx1: [" + ", ".join(["*a0"] * 100) + "]\n",
    "entries": "x0: &a0 [" + ", ".join("y" * 1000) + "]\nx1: [" + ", ".join(["*a0"] * 1000) + "]\n",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
@pytest.mark.parametrize("inside", [True, False], ids=["in a section", "beside the sections"])
def test_aliases_that_unfold_to_more_than_can_be_read_are_refused(tmp_path: Path, bomb: str, inside: bool) -> None:
    indented = "".join(f"    {line}\n" for line in bomb.splitlines())
    text = f"config:\n  gpu-fabric:verification:\n{indented}" if inside else f"{bomb}config: {{}}\n"
    before = time.process_time()
    refused = refusal(tmp_path, text)

    assert "aliases (*) repeat more than 1,000,000 characters" in str(refused)
    # Not a budget: unfolding any of them takes minutes or all memory.
    assert time.process_time() - before < 20


def test_aliases_within_reason_are_read() -> None:
    text = parsed("config:\n  gpu-fabric:fabric: {a: &a {x: 1}, b: *a, c: {<<: *a, y: 2}}\n")

    assert text.content["config"]["gpu-fabric:fabric"]["c"] == {"x": 1, "y": 2}
    assert text.unclear == ()


def test_every_key_and_entry_has_its_line_and_column() -> None:
    found = places("config:\n  gpu-fabric:cluster:\n    pools:\n      - {name: a}\n      - name: b\n        nodes: 2\n")

    assert found == {
        "gpu-fabric:cluster": Place(2, 3),
        "gpu-fabric:cluster.pools": Place(3, 5),
        "gpu-fabric:cluster.pools[0]": Place(4, 9),
        "gpu-fabric:cluster.pools[0].name": Place(4, 10),
        "gpu-fabric:cluster.pools[1]": Place(5, 9),
        "gpu-fabric:cluster.pools[1].name": Place(5, 9),
        "gpu-fabric:cluster.pools[1].nodes": Place(6, 9),
    }


def test_what_a_merge_key_brings_is_where_it_is_written() -> None:
    found = places("config:\n  gpu-fabric:cluster: &c\n    a: 1\n  gpu-fabric:fabric:\n    <<: *c\n    b: 2\n")

    assert (found["gpu-fabric:fabric.a"], found["gpu-fabric:fabric.b"]) == (Place(3, 5), Place(6, 5))


def test_a_missing_key_is_said_at_what_it_is_missing_from(tmp_path: Path) -> None:
    refused = refusal(tmp_path, FILE.format(nodes=1).replace("shape: BM.GPU4.8, ", ""))

    assert "Pulumi.lab.yaml:5:13: error SPC003 gpu-fabric:cluster.pools[0].shape: this key is required" in str(refused)


@pytest.mark.parametrize(
    "network", ["10.0.0.0/016", "10.0.0.0/0.0.255.255", "fd00::%eth0/48", "10.0.0.0/+16", "10.0.0.0/ 16"]
)
def test_a_network_that_only_python_reads_is_refused(network: str) -> None:
    with pytest.raises(ValueError, match="this is not a valid network"):
        parse_network(network)
    with pytest.raises(ValueError, match="this is no"):
        parse_span(network)


def test_an_address_with_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="this is not a valid address"):
        parse_span("fe80::1%eth0")


def test_the_first_hundred_problems_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    count = 500
    pools = "".join(f"      - {{nam: p{number}, shape: BM.GPU4.8, nodes: 1}}\n" for number in range(count))
    text = FILE.format(nodes=1).replace(
        "    pools: [{name: gpu, shape: BM.GPU4.8, nodes: 1}]\n", f"    pools:\n{pools}"
    )
    refused = refusal(tmp_path, text)
    lines = str(refused).splitlines()

    assert len(refused.findings) >= 2 * count
    assert lines[0] == f"Pulumi.lab.yaml: {len(refused.findings)} problems, nothing was created."
    assert len(lines) == 202
    assert lines[-1] == f"  and {len(refused.findings) - 100} more; `plan --format json` lists them all"
