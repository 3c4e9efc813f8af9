"""Writes what the catalog knows of charts from their own values: names of keys, and types of values.

`make upstream` fetches the values and runs it. Charts whose values are not published as a file have their known keys in
their operators' files (`gpu_fabric/catalog/operators/`).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import yaml
from upstream_definitions import UPSTREAM

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.operators.releases import merged

CATALOG = Path(__file__).resolve().parents[2] / "gpu_fabric/catalog"
# No values of these charts lie beside this repository.
NOT_AT_HAND = {"whereabouts", "ofed-driver", "dranet", "amd-gpu-operator", "amd-network-operator"}
# The public sources of these charts end at their last candidates; the releases are in the vendor's repository only.
LAST_PUBLIC_CANDIDATE = {("network-operator", "26.7.0"): "26.7.0-rc.2", ("network-operator", "23.10.0"): "23.10.0-rc.5"}
# Keys that a chart's templates read, and that its values hold in a comment only, or not at all.
COMMENTED_OUT: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("network-operator", "23.10.0"): {"nodeAffinity": (), "tolerations": ()},
    ("gpu-operator", "v26.7.0"): {
        "operator": ("initContainer", "metrics"),
        "cdi": ("default",),
        "hostPaths": ("kubeletRootDir",),
    },
    ("gpu-operator", "v26.3.3"): {"operator": ("nodeSelector", "initContainer"), "cdi": ("default",)},
    ("gpu-operator", "v25.10.1"): {"operator": ("nodeSelector",), "cdi": ("default",)},
    ("gpu-operator", "v23.9.1"): {"operator": ("nodeSelector",)},
    ("spiderpool", "1.2.2"): {"supportedExtraNICs": ()},
}
# Keys of a file of values that the release itself does not have, by the file's name: they are those of a later commit.
LATER_THAN_RELEASE = {
    "dra-driver-nvidia-gpu-0.4.1": (
        "consumableShares",
        "resources.computeDomains.imex",
        "kubeletPlugin.containers.computeDomains.gpuCliqueLabelEnabled",
    )
}

TYPED = sorted(
    (chart, version)
    for chart, versions in catalog().chart_versions.items()
    for version, known in versions.items()
    if known.types.switches and chart not in NOT_AT_HAND
)
"""Charts and versions whose values are known and at hand."""

Values = dict[str, Any]

_KEYS = """\
# Written from the charts' own values by `make upstream`; change tests/support/chart_values.py, not this file.
#
# knownKeys: the names in the charts' own values at the versions that the release lines pin, two levels deep, and those
# that only a comment there or a template has. Maps that take any name (node selectors, security contexts) list none.
# The history of single keys is in operators/, as are the names of charts whose values are not published as a file.

knownKeys:
"""
_TYPES = """\
# Written from the charts' own values by `make upstream`; change tests/support/chart_values.py, not this file.
#
# types: which keys of the values are switches (true or false), and which are numbers. Helm takes any text for true, so
# that a switch in quotes is on. Dotted paths; keys with a dot of their own are left out. Of a chart without types the
# values are not known. The types of the Network Operator 26.7.0 and 23.10.0 are its last public candidates'.

"""


def upstream_version(chart: str, version: str) -> str:
    """The version of the chart's published values."""
    return LAST_PUBLIC_CANDIDATE.get((chart, version), version)


def upstream_values(chart: str, version: str) -> Values:
    """The real chart's values, by chart and version, with those of the charts in it, as Helm merges them."""
    name = f"{chart}-{version.removeprefix('v')}"
    values = values_of_file(name)
    for file in (UPSTREAM / "values").glob(f"*-in-{version.removeprefix('v')}.yaml"):
        part = file.stem.partition("-in-")[0]
        if part in values:
            values[part] = merged(values_of_file(file.stem), values[part])
    return values


def values_of_file(name: str) -> Values:
    """The values of a published file, by its name without the ending."""
    values: Values = yaml.load((UPSTREAM / "values" / f"{name}.yaml").read_bytes(), Loader=yaml.CSafeLoader)
    for path in LATER_THAN_RELEASE.get(name, ()):
        *above, key = path.split(".")
        below: Any = values
        for step in above:
            below = below[step]
        del below[key]
    return values


def files() -> dict[Path, str]:
    """The text of each file of the catalog that is written from charts' values."""
    judged = {chart for chart, row in catalog().chart_versions.items() if not any(one.unjudged for one in row.values())}
    return {
        CATALOG / "chart_keys.yaml": _KEYS + _table(judged - NOT_AT_HAND, _known_keys, "  "),
        CATALOG / "chart_versions.yaml": _TYPES + _table(catalog().chart_versions.keys() - NOT_AT_HAND, _types_of),
    }


def _table(charts: Set[str], lines: Callable[[str, str, Values], Iterable[str]], indent: str = "") -> str:
    """Charts, their versions, and what is said of each version's values."""
    text = []
    for chart in sorted(charts):
        text.append(f"{indent}{chart}:")
        for version in catalog().chart_versions[chart]:
            text.append(f"{indent}  {version}:")
            values = upstream_values(chart, upstream_version(chart, version))
            text += (f"{indent}    {line}" for line in lines(chart, version, values))
    return "\n".join(text) + "\n"


def _known_keys(chart: str, version: str, values: Values) -> Iterator[str]:
    more = COMMENTED_OUT.get((chart, version), {})
    for key in (*values, *(name for name in more if name not in values)):
        below = values.get(key)
        yield f"{key}: {_list((*(below if isinstance(below, Mapping) else ()), *more.get(key, ())))}"


def _types_of(_chart: str, _version: str, values: Values) -> Iterator[str]:
    yield "types:"
    yield f"  switches: {_list(sorted(of_type(values, bool)))}"
    yield f"  numbers: {_list(sorted(of_type(values, int, float)))}"


def _list(names: Iterable[str]) -> str:
    """A list as YAML reads it; a name that would be something else than text is in quotes."""
    return f"[{', '.join(name if yaml.safe_load(name) == name else json.dumps(name) for name in names)}]"


def of_type(values: Mapping[str, Any], *kinds: type, path: str = "") -> Iterator[str]:
    """Paths of the values of exactly these types; keys with a dot of their own are left out."""
    for key, value in values.items():
        where = f"{path}.{key}" if path else str(key)
        if "." in str(key):
            continue
        if isinstance(value, Mapping):
            yield from of_type(value, *kinds, path=where)
        elif type(value) in kinds:
            yield where


if __name__ == "__main__":
    for place, content in files().items():
        place.write_text(content, encoding="utf-8")
        print(f"written: {place.relative_to(CATALOG.parents[1])}")
