"""What takes a faulty value's place, so that the checks that need a whole spec still find what else is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from fabric.catalog import Catalog
from fabric.spec.places import Location, within
from fabric.spec.stack import PROVIDERS

# For values without a default: the one that asks least of every later check.
_LEAST: dict[tuple[str, ...], Any] = {
    ("cluster", "pools", "nodes"): 1,
    ("cluster", "version"): "1.35",
    ("cluster", "compartmentId"): "ocid1.compartment.oc1..unknown",
    ("fabric", "addressing", "supernet"): "0.0.0.0/0",
}


def provider_meant(sections: Mapping[str, Any]) -> str:
    """The provider whose form of `cluster` was probably meant: as written, spelled alike, or `existing`."""
    cluster = sections.get("cluster")
    written = str(cluster.get("provider")) if isinstance(cluster, dict) else ""
    return next(iter(get_close_matches(written, list(PROVIDERS), n=1)), "existing")


def mended(sections: Mapping[str, Any], faulty: Iterable[Location], known: Catalog) -> dict[str, Any]:
    """The sections without their faulty values; what is required gets a stand-in.

    Findings on a stand-in itself mean nothing: whoever checks the result drops those whose path was faulty.
    """
    result: dict[str, Any] = json.loads(json.dumps(sections, default=str))
    places = list(faulty)
    innermost = [place for place in places if not any(within(other, place) for other in places)]
    # Backwards, so that taking an entry out of a list leaves the places of the others in it.
    for *parents, last in reversed(innermost):
        holder: Any = result
        try:
            for part in parents:
                holder = holder[part]
            written = holder.pop(last, None) if isinstance(holder, dict) else holder.pop(last)
        except (KeyError, IndexError, TypeError, AttributeError):
            continue
        _fill(holder, (*parents, last), written, result, known)
    return result


def _fill(holder: Any, location: Location, written: Any, result: dict[str, Any], known: Catalog) -> None:
    keys = tuple(part for part in location if isinstance(part, str))
    if keys in _LEAST:
        holder[keys[-1]] = _LEAST[keys]
    elif keys == ("cluster", "region"):
        holder["region"] = {"doks": "xxx0", "oke": "xx-xxx-0"}.get(result["cluster"].get("provider"), "")
    elif keys == ("cluster", "provider"):
        holder["provider"] = provider_meant({"cluster": {"provider": written}})
    elif keys == ("cluster", "pools") and location[-1] == "pools":
        holder["pools"] = [{"name": "pool-0", "nodes": 1, "shape": _meant_shape(None, [], known)}]
    elif keys == ("cluster", "pools", "name"):
        holder["name"] = f"pool-{location[-2]}"
    elif keys == ("cluster", "pools", "shape"):
        holder["shape"] = _meant_shape(written, result["cluster"]["pools"], known)
    elif keys == ("cluster", "kubeconfig"):
        holder.setdefault("kubeconfigSecret", "kubeconfig")


def _meant_shape(written: Any, pools: list[Any], known: Catalog) -> str:
    """The known shape most likely meant: one spelled alike, else another pool's, else the one with the fewest rails."""
    near = get_close_matches(str(written), list(known.shapes), n=1)
    beside = [pool["shape"] for pool in pools if isinstance(pool, dict) and known.find(str(pool.get("shape")))]
    with_rails = [shape for shape in known.shapes.values() if shape.rails]
    return next(iter(near + beside), min(with_rails, key=lambda shape: shape.rails).name)
