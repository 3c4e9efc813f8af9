"""Which NICs become rails, in which order, and the reasons that the file's comments have."""

import pytest

from gpu_fabric.discover.facts import DiscoveryError
from gpu_fabric.discover.node import GpuFacts, NicFacts, NodeFacts
from gpu_fabric.discover.rails import chosen_rails


def nic(number: int, bus: int, near: int | None = None, function: int = 0, **facts: object) -> NicFacts:
    nearest = () if near is None else (near,)
    found = NicFacts(pci=f"0000:{bus:02x}:00.{function}", rdma_device=f"mlx5_{number}", vendor="15b3", device="1021")
    found.nearest, found.nearest_gpu = nearest, near
    for name, value in facts.items():
        setattr(found, name, value)
    return found


def node(*nics: NicFacts, gpus: int = 4) -> NodeFacts:
    return NodeFacts(gpus=[GpuFacts() for _ in range(gpus)], gpu_vendor="nvidia", nics=list(nics))


def names(nics: tuple[NicFacts, ...]) -> list[str | None]:
    return [each.rdma_device for each in nics]


def four(**facts: object) -> list[NicFacts]:
    return [nic(number, 0x10 + number, number, **facts) for number in range(4)]


def test_nics_that_share_a_switch_with_a_gpu_are_rails() -> None:
    choice = chosen_rails(node(*four(), nic(8, 0x80), nic(9, 0x81)))

    assert (names(choice.rails), names(choice.others)) == (
        ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"],
        ["mlx5_8", "mlx5_9"],
    )
    assert choice.reasons[0] == "rails are NICs that share a PCI switch with a GPU: without mlx5_8, mlx5_9"
    assert choice.doubts == ()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (nic(8, 0x80, 0, device="101d"), "are of the model that most have"),
        (nic(8, 0x80, 0, speed_gbps=100), "have the speed that most have"),
        (nic(8, 0x80, 0, pci=None), "have a known PCI address"),
        (nic(8, 0x80, 0, rdma_device="mlx5_bond_0"), "are no bonds"),
    ],
)
def test_a_nic_unlike_the_others_is_no_rail_though_it_is_near_a_gpu(other: NicFacts, words: str) -> None:
    choice = chosen_rails(node(*four(speed_gbps=400), other))

    assert choice.others == (other,)
    assert choice.reasons[0] == f"rails are NICs that {words}: without {other.called}"


def test_a_card_with_another_number_of_ports_is_no_rail() -> None:
    # PowerEdge XE9680: its storage card has two ports, and one of them an RDMA device, near GPU 4.
    two_ports = [nic(8, 0x9D, 3), nic(9, 0x9D, 3, function=1)]

    choice = chosen_rails(node(*four(), *two_ports))

    assert names(choice.rails) == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]
    assert (
        choice.reasons[0] == "rails are NICs that have as many ports on their adapter as most: without mlx5_8, mlx5_9"
    )


def test_without_nearest_gpus_the_choice_is_doubted() -> None:
    choice = chosen_rails(node(*[nic(number, 0x10 + number) for number in range(4)], nic(9, 0x80, device="101d")))

    assert names(choice.others) == ["mlx5_9"]
    assert choice.doubts[0].startswith("no file says which NICs are near a GPU")


def test_a_majority_of_bluefield_is_doubted_where_other_nics_could_be_the_rails() -> None:
    units = [nic(number, 0x10 + number, device="a2dc") for number in range(4)]
    cards = [nic(8 + number, 0x80 + number) for number in range(2)]

    beside, alone = chosen_rails(node(*units, *cards)), chosen_rails(node(*units))

    assert names(beside.rails) == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]
    assert [doubt[:25] for doubt in beside.doubts] == ["no file says which NICs a", "the rails are BlueField, "]
    assert [doubt[:25] for doubt in alone.doubts] == ["no file says which NICs a"]


def test_a_number_of_rails_that_the_gpus_cannot_share_is_doubted() -> None:
    (doubt,) = chosen_rails(node(*four()[:3])).doubts

    assert doubt == "3 rails for 4 GPUs are no even share; say with --rails which NICs are rails"


@pytest.mark.parametrize(
    "wanted",
    [["mlx5_9", "mlx5_2"], ["0000:80:00.0", "0000:12:00.0"], ["eth9", "mlx5_2"]],
    ids=["device", "pci", "interface"],
)
def test_the_user_names_the_rails_in_order(wanted: list[str]) -> None:
    choice = chosen_rails(node(*four(), nic(9, 0x80, interface="eth9")), wanted)

    assert names(choice.rails) == ["mlx5_9", "mlx5_2"]
    assert names(choice.others) == ["mlx5_0", "mlx5_1", "mlx5_3"]
    assert choice.reasons == ("the rails are those that --rails names, in its order",)


def test_the_user_cannot_name_a_nic_that_is_not_there_or_one_twice() -> None:
    with pytest.raises(DiscoveryError, match="no NIC is called 'mlx5_7'; the files have mlx5_0, mlx5_1"):
        chosen_rails(node(*four()), ["mlx5_7"])
    with pytest.raises(DiscoveryError, match="names a NIC twice"):
        chosen_rails(node(*four()), ["mlx5_0", "0000:10:00.0"])


def test_rails_are_numbered_by_their_interfaces_numbers_else_by_gpus_else_by_addresses() -> None:
    crossed = [nic(0, 0x10, 1), nic(1, 0x11, 0)]
    numbered = [nic(0, 0x10, 0, interface="rdma10"), nic(1, 0x11, 1, interface="rdma9")]
    plain = [nic(10, 0x20), nic(9, 0x10)]

    assert names(chosen_rails(node(*crossed, gpus=2)).rails) == ["mlx5_1", "mlx5_0"]
    assert names(chosen_rails(node(*numbered, gpus=2)).rails) == ["mlx5_1", "mlx5_0"]
    assert names(chosen_rails(node(*plain, gpus=2)).rails) == ["mlx5_9", "mlx5_10"]


def test_what_cluster_config_calls_east_west_is_taken_as_it_numbers_it() -> None:
    stated = [nic(number, 0x10 + number, traffic="east-west", rail=3 - number) for number in range(4)]

    choice = chosen_rails(node(*stated, nic(9, 0x80, 0, traffic="north-south")))

    assert names(choice.rails) == ["mlx5_3", "mlx5_2", "mlx5_1", "mlx5_0"]
    assert names(choice.others) == ["mlx5_9"]
