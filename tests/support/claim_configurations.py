"""The opaque configurations of claims, and what the code of a DRA driver says of them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from asked_programs import ask

Json = Mapping[str, Any]


def configurations(objects: Iterable[Json], driver: str) -> Iterator[tuple[str, Any]]:
    """A driver's configurations in ResourceClaims, ResourceClaimTemplates and DeviceClasses, each with its place."""
    for item in objects:
        spec = item.get("spec", {})
        match item["kind"]:
            case "ResourceClaimTemplate":
                entries = spec["spec"]["devices"].get("config", ())
            case "ResourceClaim":
                entries = spec["devices"].get("config", ())
            case "DeviceClass":
                entries = spec.get("config", ())
            case _:
                continue
        for number, entry in enumerate(entries):
            if (opaque := entry.get("opaque", {})).get("driver") == driver:
                yield f"{item['kind']} {item['metadata']['name']}, config {number}", opaque["parameters"]


def dranet_problems(
    objects: Iterable[Json], validator: Path, *, without_interface: bool = False
) -> dict[str, list[str]]:
    """The errors of DRANET's own checks by place, of configurations that have any.

    `without_interface`: what counts for NICs that are published without one, as InfiniBand's where IPoIB stays on the
    host.
    """
    found = list(configurations(objects, "dra.net"))
    answers = ask(validator, [parameters for _, parameters in found])
    errors = {
        place: [*answer["errors"], *(answer["rdmaOnlyErrors"] if without_interface else ())]
        for (place, _), answer in zip(found, answers, strict=True)
    }
    return {place: texts for place, texts in errors.items() if texts}
