"""What the three topology files that Oracle published with the OKE guide (release v24.6.0) hold, as tables.

The ports' speed of the H100's is that of Oracle's newer file.
"""

from dataclasses import dataclass

SHAPES = ("BM.GPU4.8", "BM.GPU.A100-v2.8", "BM.GPU.H100.8")
ZERO = "00000000"


@dataclass(frozen=True)
class NicRow:
    """One adapter: its bridges from the root, virtual functions and `dev` numbers of both ports."""

    numa: int
    bridges: str
    devices: tuple[int, int]
    dev: int


@dataclass(frozen=True)
class Expected:
    """The tables of one shape; `gpus` holds the bridges above each GPU, `links` its NVLinks as `bus x count`."""

    counts: dict[str, int]
    affinity: dict[int, str]
    nics: dict[str, NicRow]
    gpus: dict[str, str]
    links: tuple[str, ...]
    link_sum: int
    net_speed: int
    speeds: frozenset[str]


def nic(numa: int, bridges: str, first_vf: int, dev: int) -> NicRow:
    return NicRow(numa, bridges, (first_vf, first_vf + 1), dev)


def mask(words: int, **placed: str) -> str:
    """A mask of that many words; `w3="ff000000"` is the word three from the end (0 the last)."""
    return ",".join(placed.get(f"w{place}", ZERO) for place in reversed(range(words)))


A100_LINKS = ("cd2 ca2 cc2 cf2 cb2 ce2",) * 8

EXPECTED = {
    "BM.GPU4.8": Expected(
        counts={"cpu": 4, "pci": 46, "nic": 8, "net": 16, "gpu": 8, "nvlink": 48},
        affinity={
            3: mask(4, w0="ff000000"),
            1: mask(4, w0="0000ff00"),
            7: mask(4, w1="ff000000"),
            5: mask(4, w1="0000ff00"),
        },
        nics={
            "0c": nic(3, "01 03 05 0a", 18, 0),
            "16": nic(3, "01 03 05 11", 26, 2),
            "48": nic(1, "40 42 44 46", 28, 4),
            "4c": nic(1, "40 42 44 49", 30, 6),
            "8a": nic(7, "7f 81 83 88", 32, 8),
            "94": nic(7, "7f 81 83 8e", 20, 10),
            "c3": nic(5, "bb bd bf c1", 22, 12),
            "d1": nic(5, "bb bd bf c4", 24, 14),
        },
        gpus={
            "0f": "01 03 05 0a 0d",
            "15": "01 03 05 11 13",
            "51": "40 42 44 4d 4f",
            "54": "40 42 44 4d 52",
            "8d": "7f 81 83 88 8b",
            "92": "7f 81 83 8e 90",
            "d6": "bb bd bf d2 d4",
            "da": "bb bd bf d2 d8",
        },
        links=A100_LINKS,
        link_sum=12,
        net_speed=100000,
        speeds=frozenset({"16.0 GT/s PCIe"}),
    ),
    "BM.GPU.A100-v2.8": Expected(
        counts={"cpu": 4, "pci": 46, "nic": 8, "net": 16, "gpu": 8, "nvlink": 48},
        affinity={
            3: mask(8, w1="ffff0000"),
            1: mask(8, w0="ffff0000"),
            7: mask(8, w3="ffff0000"),
            5: mask(8, w2="ffff0000"),
        },
        nics={
            "0c": nic(3, "01 03 05 0a", 18, 4),
            "16": nic(3, "01 03 05 11", 26, 6),
            "47": nic(1, "3f 41 43 45", 28, 0),
            "4b": nic(1, "3f 41 43 48", 30, 2),
            "89": nic(7, "7e 80 82 87", 32, 12),
            "93": nic(7, "7e 80 82 8d", 20, 14),
            "c3": nic(5, "bb bd bf c1", 22, 8),
            "d1": nic(5, "bb bd bf c4", 24, 10),
        },
        gpus={
            "0f": "01 03 05 0a 0d",
            "15": "01 03 05 11 13",
            "50": "3f 41 43 4c 4e",
            "53": "3f 41 43 4c 51",
            "8c": "7e 80 82 87 8a",
            "91": "7e 80 82 8d 8f",
            "d6": "bb bd bf d2 d4",
            "da": "bb bd bf d2 d8",
        },
        links=A100_LINKS,
        link_sum=12,
        net_speed=100000,
        speeds=frozenset({"16 GT/s"}),
    ),
    "BM.GPU.H100.8": Expected(
        counts={"cpu": 2, "pci": 40, "nic": 8, "net": 16, "gpu": 8, "nvlink": 32},
        affinity={
            0: "00000000,000000ff,ffffffff,ffff0000,00000000,00ffffff,ffffffff",
            1: "ffffffff,ffffff00,00000000,0000ffff,ffffffff,ff000000,00000000",
        },
        nics={
            "0c": nic(0, "08 0a", 18, 0),
            "2a": nic(0, "26 28", 26, 2),
            "41": nic(0, "3d 3f", 28, 4),
            "58": nic(0, "54 56", 30, 6),
            "86": nic(1, "82 84", 32, 8),
            "a5": nic(1, "a1 a3", 20, 10),
            "bd": nic(1, "b9 bb", 22, 12),
            "d5": nic(1, "d1 d3", 24, 14),
        },
        gpus={
            "0f": "08 0d",
            "2d": "26 2b",
            "44": "3d 42",
            "5b": "54 59",
            "89": "82 87",
            "a8": "a1 a6",
            "c0": "b9 be",
            "d8": "d1 d6",
        },
        links=(
            "1c5 1b5 1a4 1d4",
            "1d4 1b5 1c5 1a4",
            "1d4 1b5 1a4 1c5",
            "1b5 1a4 1d4 1c5",
            "1b5 1d4 1c5 1a4",
            "1b5 1c5 1d4 1a4",
            "1b5 1d4 1c5 1a4",
            "1c5 1d4 1a4 1b5",
        ),
        link_sum=18,
        net_speed=200000,
        speeds=frozenset({"5.0 GT/s PCIe", "32.0 GT/s PCIe"}),
    ),
}
