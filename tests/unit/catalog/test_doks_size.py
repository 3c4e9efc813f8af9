"""DigitalOcean's GPU sizes: the listed ones, and those that only their name explains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.catalog.doks import DoksTable, read_size_name

KNOWN = catalog()
SIZES = {name: shape for name, shape in KNOWN.shapes.items() if shape.provider == "doks"}

# The multi-node sizes, as DigitalOcean lists them: NICs, fabric, regions, vCPUs, host memory in GiB.
MULTI_NODE = {
    "gpu-mi300x8-1536gb-fabric-contracted": (8, "rail-only", ("atl1",), 160, 1920),
    "gpu-mi325x8-2048gb-fabric-contracted": (8, "rail-only", ("atl1", "nyc2", "tor1"), 160, 1310),
    "gpu-mi350x8-2304gb-fabric-contracted": (8, None, ("atl1",), 192, 2048),
    "gpu-h100x8-640gb-contracted": (8, None, (), 160, 1920),
    "gpu-h200x8-1128gb-fabric-contracted": (8, None, ("nyc2",), 192, 1920),
    "gpu-b300x8-2304gb-fabric-contracted": (16, "rail-only", ("ric1",), 224, 3584),
    "gpu-b300x8-2304gb-lc-fabric-contracted": (16, "rail-optimized", ("mkc1",), 224, 3584),
}

# How many sizes each family has, over all offers.
FAMILIES = {
    "mi300x": 5,
    "mi325x": 5,
    "mi350x": 7,
    "mi355x": 2,
    "h100": 3,
    "h200": 5,
    "b300": 10,
    "l40s": 1,
    "rtx 4000 ada": 1,
    "rtx 6000 ada": 1,
}


def size(slug: str) -> Shape:
    found = KNOWN.find(slug)
    assert found is not None
    assert found.doks is not None
    return found


def test_every_family_has_all_its_sizes() -> None:
    models = [(shape.gpus.model or "").lower() for shape in SIZES.values()]

    assert {model: models.count(model) for model in models} == FAMILIES


def test_just_the_listed_sizes_are_multi_node() -> None:
    assert {name for name, shape in SIZES.items() if shape.doks and shape.doks.multi_node} == set(MULTI_NODE)
    assert all((shape.rails > 0) == (name in MULTI_NODE) for name, shape in SIZES.items())


@pytest.mark.parametrize("slug", MULTI_NODE)
def test_a_multi_node_size_is_as_listed(slug: str) -> None:
    found = size(slug)
    assert found.doks is not None

    assert MULTI_NODE[slug] == (
        found.rails,
        found.doks.fabric,
        found.doks.regions,
        found.doks.vcpus,
        found.doks.memory_gib,
    )
    assert (found.gpus.count, found.doks.offer) == (8, "contracted")
    assert [nic.interface for nic in found.nics] == [f"fabric{rail}" for rail in range(found.rails)]


def test_a_b300_has_two_fabric_nics_beside_each_gpu() -> None:
    nearest = [nic.nearest_gpu for nic in size("gpu-b300x8-2304gb-fabric-contracted").nics]

    assert nearest == [gpu for gpu in range(8) for _ in (0, 1)]


def test_the_mtu_is_stated_for_the_rail_optimized_fabric_only() -> None:
    assert {name: shape.mtu for name, shape in SIZES.items() if shape.mtu} == {
        "gpu-b300x8-2304gb-lc-fabric-contracted": 4200
    }


def test_no_name_of_an_rdma_device_is_invented() -> None:
    assert [name for name, shape in SIZES.items() if shape.hca_list] == []


def test_the_nics_of_the_mi350x_are_no_mlx5_devices() -> None:
    nic = size("gpu-mi350x8-2304gb-fabric-contracted").nic_model

    assert nic is not None
    assert (nic.model, nic.vendor_id, nic.driver) == ("AMD Pollara", None, None)


@pytest.mark.parametrize(
    ("slug", "offer", "liquid_cooled"),
    [
        ("gpu-h100x1-80gb", "on-demand", False),
        ("gpu-b300x1-288gb-lc-contracted", "contracted", True),
        ("gpu-b300x8-2304gb-lc-spot", "spot", True),
        ("gpu-mi355x8-2304gb-spot", "spot", False),
    ],
)
def test_the_name_tells_offer_and_cooling(slug: str, offer: str, liquid_cooled: bool) -> None:
    found = size(slug)

    assert found.known
    assert found.doks is not None
    assert (found.doks.offer, found.doks.liquid_cooled, found.doks.multi_node) == (offer, liquid_cooled, False)


@pytest.mark.parametrize(
    ("slug", "rails"),
    [
        ("gpu-h200x8-1128gb-lc-fabric-contracted", 8),
        ("gpu-b300x8-2304gb-fabric", 16),
        ("gpu-mi355x8-2304gb-fabric-contracted", 8),
        ("gpu-l40sx2-96gb", 0),
    ],
)
def test_an_unlisted_size_that_fits_the_grammar_is_known_by_its_name_alone(slug: str, rails: int) -> None:
    found = size(slug)

    assert not found.known
    assert slug not in KNOWN.shapes
    assert found.rails == rails
    assert (found.nic_model is not None) == (rails > 0)


@pytest.mark.parametrize(
    "slug",
    [
        "gpu-mi300x8-1920gb",  # 1920 is the host's memory, not the GPUs'
        "gpu-h100x8-641gb",
        "gpu-h100x8-1128gb",  # the memory of H200
        "gpu-h100x8-640gb-200",
        "gpu-h200x4-564gb-fabric-contracted",  # not a whole node
        "gpu-h200x8-1128gb-contracted-fabric",
        "gpu-h200x0-0gb",
        "gpu-gb300x4-1152gb",
        "GPU-H100x8-640gb",
        "s-4vcpu-8gb",
        "",
    ],
)
def test_other_text_is_no_size(slug: str) -> None:
    assert KNOWN.find(slug) is None


@given(
    model=st.from_regex(r"[a-z]{1,3}[0-9]{2,3}", fullmatch=True),
    gpus=st.integers(1, 16),
    memory=st.integers(1, 512),
    liquid=st.booleans(),
    fabric=st.booleans(),
    offer=st.sampled_from(["on-demand", "contracted", "spot"]),
)
def test_a_name_put_together_by_the_grammar_is_read_back(
    model: str, gpus: int, memory: int, liquid: bool, fabric: bool, offer: str
) -> None:
    slug = f"gpu-{model}x{gpus}-{gpus * memory}gb{'-lc' * liquid}{'-fabric' * fabric}"
    name = read_size_name(slug if offer == "on-demand" else f"{slug}-{offer}")

    assert name is not None
    assert (name.model, name.gpus, name.memory_gb) == (model, gpus, memory)
    assert (name.liquid_cooled, name.fabric, name.offer) == (liquid, fabric, offer)


def test_a_row_whose_name_is_no_size_is_refused_by_name() -> None:
    table = KNOWN.doks.model_dump()
    table["sizes"]["gpu-mi300x8-1920gb"] = {"source": "a rumour"}

    with pytest.raises(ValidationError, match="the models' memory: gpu-mi300x8-1920gb"):
        DoksTable.model_validate(table)
