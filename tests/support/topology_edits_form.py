"""Edits of the guide shapes' files that change how they are written: what the reader refuses, skips or loses.

The verdicts are those of the tables of NCCL's dialect; an XML parser's are beside them, because many differ.
"""

from __future__ import annotations

from topology_texts import Mutation, after, before, both, bridges, match, nested, on, put

_CPU_END = "\n  </cpu>"
_COMMENT = '<system version="1">\n'

REFUSED = (
    Mutation("xml declaration", lambda t: f'<?xml version="1.0"?>\n{t}', {"TOP001"}, False),
    Mutation("xml declaration, encoding", lambda t: f'<?xml version="1.0" encoding="UTF-8"?>\n{t}', {"TOP001"}, False),
    Mutation("doctype", lambda t: f"<!DOCTYPE system>\n{t}", {"TOP001"}, False),
    Mutation("byte-order mark", lambda t: f"\ufeff{t}", {"TOP001"}, False),
    Mutation("cdata", after(_COMMENT, "<![CDATA[x]]>\n"), {"TOP001"}, False),
    Mutation("processing instruction", after(_COMMENT, "<?keep this?>\n"), {"TOP001"}, False),
    Mutation("tab as indentation", put("\n  <cpu", "\n\t<cpu"), {"TOP002"}, False),
    Mutation("text between tags", after(_COMMENT, "two sockets\n"), {"TOP002"}, False),
    Mutation("entity between tags", after(_COMMENT, "&#32;\n"), {"TOP002"}, False),
    Mutation("tab after the name", put("<cpu ", "<cpu\t"), {"TOP003"}, False),
    Mutation("line end after the name", put("<cpu ", "<cpu\n"), {"TOP003"}, False),
    Mutation("tab between attributes", put('" affinity', '"\taffinity'), {"TOP003"}, False),
    Mutation("attribute on the next line", put('" affinity', '"\n    affinity'), {"TOP003"}, False),
    Mutation("carriage return in a tag", put('" affinity', '"\r\n    affinity'), {"TOP003"}, False),
    Mutation("tag closed on the next line", put('version="1">', 'version="1"\n>'), {"TOP003"}, False),
    Mutation("space in a closing tag", put("</cpu>", "</cpu >"), {"TOP003"}, False),
    Mutation("line end in a closing tag", put("</cpu>", "</cpu\n>"), {"TOP003"}, False),
    Mutation("slash apart from its end", match(r'("[^"]*")/>', r"\1/ >"), {"TOP003"}, False, False),
    Mutation("no space between attributes", put('" affinity', '"affinity'), {"TOP003"}, False, False),
    Mutation("closing quote left out", match(r'(numaid="\d+)"', r"\1"), {"TOP003"}, False, False),
    Mutation("tag without its end", put("<nic>", "<nic"), {"TOP003"}, False, False),
    Mutation("space behind the equals sign", put("arch=", "arch= "), {"TOP004"}, False),
    Mutation("space around the equals sign", put("arch=", "arch = "), {"TOP004"}, False),
    Mutation("no quotes", match(r'numaid="(\d+)"', r"numaid=\1"), {"TOP004"}, False, False),
    Mutation("last quote of a line left out", match(r'(link_width="16)">', r"\1>"), {"TOP003"}, False, False),
    Mutation("equals sign in a comment's first word", after(_COMMENT, "<!--a=b-->\n"), {"TOP005"}, False),
    Mutation("comment without an end", after(_COMMENT, "<!-- two sockets\n"), {"TOP005"}, False, False),
    Mutation("no closing tag of the root", put("</system>\n", ""), {"TOP006"}, False, False),
    Mutation("file cut in half", lambda t: t[: len(t) // 2], {"TOP006"}, False, False),
    Mutation("file cut after a line", lambda t: t[: t.index("</nic>")], {"TOP006"}, False, False),
    Mutation("another name in a closing tag", put("</nic>", "</net>"), {"TOP006"}, False, False),
    Mutation("closing tag left out", put("    </pci>\n", ""), {"TOP006"}, False, False),
    Mutation("a closing tag too many", lambda t: f"{t}</system>\n", {"TOP006"}, False, False),
    Mutation("value of 254 characters", match('mlx5_18"', "x" * 254 + '"'), {"TOP007"}, False),
    Mutation("attribute's name of 255 characters", put("arch=", "x" * 255 + "="), {"TOP007"}, False),
    Mutation("element's name of 254 characters", after(_COMMENT, f"<{'x' * 254}/>\n"), {"TOP007"}, False),
    Mutation("format of RCCL", put('version="1"', 'version="2"'), {"TOP009"}, False),
    Mutation("no version", put(' version="1"', ""), {"TOP009"}, False),
    Mutation("empty version", put('version="1"', 'version=""'), {"TOP009"}, False),
    Mutation("version with a space before the sign", put("version=", "version ="), {"TOP009"}, False),
    Mutation("256 elements", before(_CPU_END[1:], bridges(12, 12)), {"TOP012"}, False),
)

TAKEN = (
    Mutation("CRLF", lambda t: t.replace("\n", "\r\n"), set()),
    Mutation("no final line end", lambda t: t.removesuffix("\n"), set()),
    Mutation("no indentation", lambda t: t.replace("  ", ""), set()),
    Mutation("a comment with a space", after(_COMMENT, "<!-- a=b -->\n"), set()),
    Mutation("a comment in front", lambda t: f"<!-- two sockets -->\n{t}", set()),
    Mutation("a name for the system", put('version="1"', 'version="1" name="lab"'), set()),
    Mutation("version as a decimal fraction", put('version="1"', 'version="1.0"'), set()),
    Mutation("version in hex", put('version="1"', 'version="0x1"'), set()),
    Mutation("value of 253 characters", match('mlx5_18"', "x" * 253 + '"'), set()),
    Mutation("angle bracket in a value", put("mlx5_18", "mlx<5"), set(), well_formed=False),
    Mutation("ampersand in a value", put("mlx5_18", "mlx&5"), set(), well_formed=False),
    Mutation("single quotes", match(r'arch="(\w+)"', r"arch='\1'"), {"TOP004"}),
    Mutation("letters after the slash", match('gdr="1"/>', 'gdr="1"/net>'), {"TOP003"}, well_formed=False),
    Mutation("nothing", lambda _: "", {"TOP008"}, well_formed=False),
    Mutation("blanks", lambda _: "\n  \n", {"TOP008"}, well_formed=False),
    Mutation("a comment alone", lambda _: "<!-- later -->\n", {"TOP008"}, well_formed=False),
    Mutation("another root", lambda t: t.replace("system", "topology"), {"TOP008", "TOP016"}),
    Mutation("two roots", lambda t: f'{t}<system version="1"/>\n', {"TOP010"}, well_formed=False),
    Mutation("a graph file", lambda _: '<graphs version="1">\n</graphs>\n', {"TOP011"}),
    Mutation("33 elements in one", before(_CPU_END[1:], bridges(33, 0)), {"TOP013"}),
    Mutation("more than 200 elements", before(_CPU_END[1:], bridges(10, 9)), {"TOP014"}),
    Mutation("nine levels of switches", before(_CPU_END[1:], nested(9)), {"TOP015"}),
    Mutation("eight levels of switches", before(_CPU_END[1:], nested(8)), set()),
    Mutation("an unknown element", after(_COMMENT, "<rack/>\n"), {"TOP016"}),
    Mutation(
        "an unknown element, wrongly nested",
        after(_COMMENT, "<rack>\n<unit>\n</rack>\n</unit>\n"),
        {"TOP016"},
        well_formed=False,
    ),
    Mutation("a GPU on a CPU", before(_CPU_END[1:], '<gpu dev="9"/>\n'), {"TOP016"}),
    Mutation("RCCL's links", after('gdr="1">\n', '<xgmi target="0" count="1"/>\n'), {"TOP016"}),
    Mutation("a NIC in capitals", both(put("<nic>", "<NIC>"), put("</nic>", "</NIC>")), {"TOP016", "TOP036"}),
    Mutation(
        "17 attributes",
        match(r'( modelid="\d+")', r"\1" + "".join(f' a{n}="0"' for n in range(11))),
        {"TOP017", "TOP049"},
    ),
    Mutation("an attribute twice", put('arch="', 'arch="x86_64" arch="'), {"TOP018"}, well_formed=False),
    Mutation("an attribute without a value", match(' arch="x86_64"', " arch"), {"TOP019", "TOP040"}, well_formed=False),
    Mutation("space before the equals sign", put("arch=", "arch ="), {"TOP019", "TOP040"}),
    Mutation("two spaces", put('" affinity', '"  affinity'), {"TOP020"}),
    Mutation("space before the end", put('version="1">', 'version="1" >'), {"TOP020"}),
    Mutation("space before the slash", match('gdr="1"/>', 'gdr="1" />'), {"TOP020"}),
    Mutation("two tags on a line", match(r"<nic>\n +<net", "<nic><net"), {"TOP021"}),
    Mutation("a comment without a space", after(_COMMENT, "<!--sockets-->\n"), {"TOP022"}),
    Mutation("two tags in a comment", after(_COMMENT, "<!-- <cpu><pci> -->\n"), set()),
    Mutation("an umlaut in a comment", after(_COMMENT, "<!-- Geh\u00e4use -->\n"), {"TOP023"}),
    Mutation("a byte that is no text", after(_COMMENT, "<!-- \udce9 -->\n"), {"TOP023"}, well_formed=False),
    Mutation("a tab in a value", put("mlx5_18", "mlx5\t18"), {"TOP023"}),
    Mutation("a line end in a value", put("mlx5_18", "mlx5\n18"), {"TOP023"}),
    Mutation("an entity", put("mlx5_18", "mlx5&#95;18"), {"TOP023"}),
    Mutation("an unknown entity", put("mlx5_18", "mlx5&nbsp;18"), {"TOP023"}, well_formed=False),
    Mutation("a control character", put("mlx5_18", "mlx5\x0118"), {"TOP023"}, well_formed=False),
    Mutation(
        "a space before the name", on("0000:0d:00.0", put("<pci", "< pci")), {"TOP016", "TOP036"}, well_formed=False
    ),
)

FORM = REFUSED + TAKEN
