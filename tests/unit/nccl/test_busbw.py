"""Bus bandwidth: the formula per operation, and the bars that follow from line rates."""

import pytest
from each_case import each

from gpu_fabric.catalog import Nic, Shape, catalog
from gpu_fabric.catalog.shape import Gpus, NicModel
from gpu_fabric.nccl.busbw import Bar, BarUnknownError, Operation, bar_table, bus_factor, shape_bar


def bar_of(
    name: str, *, nodes: int = 2, ring: bool = True, nvlink: bool | None = None, rails: int | None = None
) -> Bar:
    shape = catalog().find(name)
    assert shape is not None
    used = shape.rails if rails is None else rails
    return shape_bar(shape, used, nodes=nodes, ring=ring, nvlink=nvlink, operation=Operation.ALL_REDUCE)


def own_shape(nics: int, gbps: int) -> Shape:
    """A shape as a stack file may describe it."""
    return Shape(
        name="own",
        provider="inline",
        gpus=Gpus(vendor="nvidia", count=8),
        nic_model=NicModel(link_type="ether"),
        nics=(Nic(),) * nics,
        nic_speed_gbps=gbps,
        source="the stack file",
    )


@pytest.mark.parametrize(
    ("operation", "ranks", "factor"),
    [
        (Operation.ALL_REDUCE, 2, 1.0),
        (Operation.ALL_REDUCE, 16, 1.875),
        (Operation.ALL_GATHER, 16, 0.9375),
        (Operation.REDUCE_SCATTER, 16, 0.9375),
        (Operation.ALL_TO_ALL, 4, 0.75),
    ],
)
def test_the_factor_follows_operation_and_ranks(operation: Operation, ranks: int, factor: float) -> None:
    assert bus_factor(operation, ranks) == factor


@pytest.mark.parametrize("nics", [1, 2, 8])
@pytest.mark.parametrize("gbps", [1, 4, 8])
def test_a_slow_network_has_a_bar_above_0_and_below_its_line_rate(nics: int, gbps: int) -> None:
    bar = shape_bar(own_shape(nics, gbps), nics, nodes=2, ring=True, nvlink=None, operation=Operation.ALL_REDUCE)

    assert bar.limit is not None
    assert max(0, 0.92 * bar.limit - 1) < bar.value <= 0.92 * bar.limit + 1e-9
    assert f"is {bar.value:g} GB/s" in bar.explanation


@pytest.mark.parametrize(
    "shape", [name for name, row in bar_table().shapes.items() if row.nics and not row.multi_node_nvlink]
)
def test_no_bar_can_be_reached_with_a_rail_missing(shape: str) -> None:
    bar = bar_of(shape)
    rails = bar_table().shapes[shape].nics
    assert bar.limit is not None
    assert rails is not None
    best_published = 0.97

    assert bar.value > best_published * bar.limit * (rails - 1) / rails


def test_where_only_rings_are_published_other_algorithms_have_no_bar() -> None:
    with pytest.raises(BarUnknownError, match="is for rings; measure with NCCL_ALGO=RING"):
        bar_of("BM.GPU.RTXPRO.8", ring=False)


@each("shape", bar_table().shapes)
@each("nvlink", [None, False])
@each("nodes, ring", [(2, True), (2, False), (4, True)])
def test_a_bar_is_explained_by_its_own_reason_and_by_no_other(
    shape: str, nvlink: bool | None, nodes: int, ring: bool
) -> None:
    row = bar_table().shapes[shape]
    published = [bar for bar in (row.bar, row.two_node_bar, row.rack_bar, row.ring_bar) if bar is not None]
    try:
        bar = bar_of(shape, nodes=nodes, ring=ring, nvlink=nvlink)
    except BarUnknownError:
        return
    given = {each.reason for each in published if each.reason in bar.explanation}

    assert bar.source
    assert bar.assumes
    assert given == {each.reason for each in published if each.value == bar.value}
    assert bar.source in {row.source, *(each.source for each in published if each.value == bar.value)}


@pytest.mark.parametrize("rails", [1, 4, 8])
def test_fewer_rails_than_nics_lower_the_bar_in_proportion(rails: int) -> None:
    assert bar_of("BM.GPU.H100.8", rails=rails).value == rails * 200 * 92 // 800


def test_no_bar_for_all_to_all() -> None:
    with pytest.raises(BarUnknownError, match="alltoall"):
        shape_bar(own_shape(8, 400), 8, nodes=2, ring=True, nvlink=None, operation=Operation.ALL_TO_ALL)


def test_every_row_is_of_a_shape_with_that_many_nics() -> None:
    for name, row in bar_table().shapes.items():
        shape = catalog().find(name)
        assert shape is not None
        assert row.nics in (None, shape.rails), name
        assert row.gbps is None or shape.nic_speed_gbps in (None, row.gbps), name
