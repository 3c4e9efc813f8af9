"""DigitalOcean's GPU sizes: the listed ones, and those that only their name explains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_fabric.catalog import Shape, catalog
from gpu_fabric.catalog.doks import read_size_name

KNOWN = catalog()
SIZES = {name: shape for name, shape in KNOWN.shapes.items() if shape.provider == "doks"}


def size(slug: str) -> Shape:
    found = KNOWN.find(slug)
    assert found is not None
    assert found.doks is not None
    return found


def test_no_name_of_an_rdma_device_is_invented() -> None:
    assert [name for name, shape in SIZES.items() if shape.hca_list] == []


@pytest.mark.parametrize(
    ("slug", "rails"),
    [
        ("gpu-h200x8-1128gb-lc-fabric-contracted", 8),
        ("gpu-b300x8-2304gb-fabric", 16),
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
        "gpu-h100x8-1128gb",  # the memory of H200
        "gpu-h100x8-640gb-200",
        "gpu-h200x4-564gb-fabric-contracted",  # not a whole node
        "gpu-h200x8-1128gb-contracted-fabric",
        "gpu-h200x0-0gb",
        "GPU-H100x8-640gb",
        "gpu-h100x08-640gb",
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
