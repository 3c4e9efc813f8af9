"""For each rule about topology files, a change of the lean file that breaks it and nothing else, and one that does not.

Rules that compare are shown on the H100's full file, with its shape, or with the lean file as NCCL's dump.
"""

from __future__ import annotations

from typing import NamedTuple

from topology_texts import LEAN, Edit, after, block, both, bridge, bridges, full, match, nested, on, put, without

_TOP = '<system version="1">\n'
_H100 = full("BM.GPU.H100.8")
_GPU, _NIC, _SWITCH = "0000:0f:00.0", "0000:0c:00.0", "ffff:00:01.0"
_CPU = 'modelid="143">\n'
_FRONT_END = '<pci busid="0000:1f:00.0" class="0x020000"/>\n'
_MASK = ' affinity="00000000,000000ff,ffffffff,ffff0000,00000000,00ffffff,ffffffff"'


class Case(NamedTuple):
    """`bad` breaks the rule, `good` does not; `alone` says that `bad` breaks no other."""

    rule: str
    bad: Edit
    good: Edit
    text: str = LEAN
    shape: str | None = None
    dump: str | None = None
    alone: bool = True


def _many(count: int) -> Edit:
    """That many switches, each with nine below; together with the lean file's nine elements."""
    return after(_CPU, bridges(count, 9))


def _net(attributes: str) -> Edit:
    return on(_NIC, put("/>", f'>\n<nic>\n<net name="mlx5_0"{attributes}/>\n</nic>\n</pci>'))


def _gpu(attributes: str = "", below: str = "") -> Edit:
    return on(_GPU, put("/>", f">\n<gpu{attributes}>\n{below}</gpu>\n</pci>"))


def _nic_below(bridge: str) -> Edit:
    """The NIC moved below another bridge."""
    return lambda text: on(bridge, after(">\n", block(text, _NIC)))(without(_NIC)(text))


CASES = (
    Case("TOP001", lambda t: f'<?xml version="1.0"?>\n{t}', lambda t: f"<!-- xml -->\n{t}"),
    Case("TOP002", put("\n  <cpu", "\n\t<cpu"), put("\n  <cpu", "\r\n\n   <cpu")),
    Case("TOP003", put(" affinity", "\n affinity"), put("<cpu", "\n <cpu")),
    Case("TOP004", put('numaid="0"', "numaid=0"), put('"0000ffff"', '"0000FFFF"')),
    Case("TOP005", after(_TOP, "<!--a=b-->\n"), after(_TOP, "<!-- a=b -->\n")),
    Case("TOP006", put("</cpu>", ""), lambda t: t),
    Case(
        "TOP007",
        put('version="1"', f'version="1" name="{"x" * 254}"'),
        put('version="1"', f'version="1" name="{"x" * 253}"'),
    ),
    Case("TOP008", lambda _: "", lambda t: t),
    Case("TOP009", put('version="1"', 'version="2"'), put('version="1"', 'version="01"')),
    Case("TOP010", lambda t: f'{t}<system version="1"/>\n', lambda t: f"{t}\n"),
    Case("TOP011", lambda _: '<graphs version="1"/>\n', lambda t: t),
    Case("TOP012", _many(25), _many(19)),
    Case("TOP013", after(_CPU, bridges(31, 0)), after(_CPU, bridges(30, 0))),
    Case("TOP014", both(_many(19), after(_CPU, bridge(999) + bridge(998))), _many(19)),
    Case("TOP015", after(_CPU, nested(9)), after(_CPU, nested(8))),
    Case("TOP016", after(_TOP, "<pci/>\n"), after(_TOP, '<cpu numaid="2"/>\n')),
    Case(
        "TOP017",
        on(_SWITCH, put(" link_width", "".join(f' a{n}="0"' for n in range(8)) + " link_width")),
        on(_SWITCH, put(" link_width", "".join(f' a{n}="0"' for n in range(7)) + " link_width")),
        alone=False,
    ),
    Case("TOP018", put(' arch="', ' arch="x86_64" arch="'), put(' arch="', ' affinity_offset="0" arch="')),
    Case("TOP019", put(' name="', ' name ="'), lambda t: t, LEAN.replace('n="1"', 'n="1" name="lab"')),
    Case("TOP020", put('1">', '1" >'), lambda t: t),
    Case("TOP021", put("\n</system>", "</system>"), put("\n</system>", "\n\n</system>")),
    Case("TOP022", after(_TOP, "<!--two sockets-->\n"), after(_TOP, "<!-- <two> <sockets> -->\n")),
    Case("TOP023", put('n="1"', 'n="1" name="a&lt;b"'), put('n="1"', 'n="1" name="a&b"')),
    Case("TOP024", put('numaid="1"', 'numaid="01"'), put('numaid="1"', 'numaid="-1"')),
    Case("TOP025", put('"0000ffff"', '"0-15"'), put('"0000ffff"', '"0000FFFF"')),
    Case(
        "TOP026",
        both(put('"0000ffff"', '"fff,0000ffff"'), put('"ffff0000"', '"0000,ffff0000"')),
        both(put('"0000ffff"', '"fff,0000ffff"'), put('"ffff0000"', '"000,ffff0000"')),
    ),
    Case("TOP027", put(_MASK, _MASK.replace('fffff"', 'ffffe"')), put(_MASK, ""), _H100, "BM.GPU.H100.8"),
    Case("TOP028", put("0000:0f", "0000:0F"), put("0000:0f", "0001:0f")),
    Case("TOP029", put("0000:89", "0000:0f"), put("0000:89", "0000:90")),
    Case("TOP030", put(_SWITCH, "0000:00:01.0"), put(_SWITCH, "fff0:00:01.0")),
    Case("TOP031", on(_SWITCH, match(' class="[^"]*"', "")), on(_SWITCH, put("0x060400", "0x0b4000"))),
    Case("TOP032", put("32.0 GT/s PCIe", "32.0 GT/s"), put("32.0 GT/s PCIe", "64.0 GT/s PCIe")),
    Case("TOP033", put('link_width="16"/>', 'link_width="0"/>'), put('link_width="16"/>', 'link_width="1"/>')),
    Case(
        "TOP034",
        both(on(_NIC, put("32.0", "16.0")), _net(' speed="400000"')),
        _net(' speed="400000"'),
        alone=False,
    ),
    Case("TOP035", on(_SWITCH, put('h="16"', 'h="8"')), both(*(on(at, put('h="16"', 'h="8"')) for at in (_GPU, _NIC)))),
    Case("TOP036", without(_GPU), after(_CPU, _FRONT_END), _H100, "BM.GPU.H100.8"),
    Case("TOP037", _nic_below("0000:28:00.0"), put("0000:0a:", "fffe:0a:"), _H100, "BM.GPU.H100.8"),
    Case("TOP038", _gpu(' dev="0"'), _gpu(), alone=False),
    Case("TOP039", _net(""), lambda t: t),
    Case("TOP040", put('modelid="143"', 'modelid="0143"'), put('modelid="143"', 'modelid="0x8f"')),
    Case("TOP041", _net(' speed="180000"'), _net(' speed="200000"'), alone=False),
    Case(
        "TOP042",
        put('speed="200000"', 'speed="100000"'),
        put('speed="200000"', 'speed="400000"'),
        _H100,
        "BM.GPU.H100.8",
    ),
    Case("TOP043", _net(' rail="0"'), _net(' coll="0"'), alone=False),
    Case("TOP044", on(_SWITCH, match(' subsystem_vendor="[^"]*"', "")), lambda t: t),
    Case("TOP045", put(' numaid="0"', ' numaid="0" keep="1"'), lambda t: t),
    Case("TOP046", put("0000:0c", "0000:0d"), lambda t: t, dump=LEAN),
    Case(
        "TOP047",
        lambda t: t[: t.index("</cpu>")] + "</cpu>\n</system>\n",
        lambda t: t,
        _H100,
        "BM.GPU.H100.8",
        alone=False,
    ),
    Case(
        "TOP048",
        both(put("0000:89", "0000:0f"), put("0000:86", "0000:0c")),
        put("0000:89", "0000:0f"),
        alone=False,
    ),
    Case("TOP049", put(' arch="', ' family="6" arch="'), lambda t: t),
    Case(
        "TOP050",
        _gpu(below='<nvlink target="0" tclass="0x068000"/>\n'),
        _gpu(below='<nvlink target="0" count="1" tclass="0x068000"/>\n'),
        alone=False,
    ),
    Case("TOP051", put("mlx5_19", "mlx5_18"), put("mlx5_19", "mlx5_34"), _H100, "BM.GPU.H100.8"),
    Case("TOP052", on(_GPU, match(' class="[^"]*"', "")), lambda t: t, alone=False),
    Case("TOP053", on(_SWITCH, put('vendor="0x0000"', 'vendor="0000"')), on(_SWITCH, put("0x0000", "0x10B5"))),
    Case("TOP054", put("0000:0c:00.0", "0000:0c:00.1"), put("0000:0c:00.0", "0000:0c:01.0")),
    Case("TOP055", put("0000:0f:00.0", "0000:0f:00.1"), put("0000:0f:00.0", "0000:0f:00.4")),
    Case("TOP056", put('gdr="1"/>', 'gdr="yes"/>'), put(' gdr="1"/>', "/>"), _H100, "BM.GPU.H100.8"),
    Case("TOP057", put('port="2"', 'port="1"'), put('port="2"', 'port="3"'), _H100, "BM.GPU.H100.8"),
    Case("TOP058", _gpu(' dev="32"'), _gpu(' dev="31"'), alone=False),
    Case("TOP059", put("0xc030", "0xc010"), put('"0x1003"', '"0x1004"'), _H100, "BM.GPU.H100.8"),
)
