"""Edits of the guide shapes' files that leave their form alone: what NCCL reads, but not as it was meant."""

import re

from topology_texts import Edit, Mutation, after, block, both, match, on, put, without

# In all three files GPU 0 is at 0f and its NIC at 0c; 0d is the bridge right above the GPU.
GPU, BRIDGE, NIC = "0000:0f:00.0", "0000:0d:00.0", "0000:0c:00.0"
_FOREIGN = '<pci busid="0000:ee:00.0" class="0x030200"/>'
MISTYPED = {"TOP028", "TOP036"}


def busid(old: str, new: str) -> Edit:
    return put(f'busid="{old}"', f'busid="{new}"')


def attribute(name: str, value: str) -> Edit:
    return match(rf' {name}="[^"]*"', f' {name}="{value}"')


def left_out(name: str) -> Edit:
    return match(rf' {name}="[^"]*"', "")


def first(tag: str, edit: Edit) -> Edit:
    """An edit of the first tag of a name."""

    def edited(text: str) -> str:
        begin = text.index(f"<{tag} ")
        end = text.index(">", begin) + 1
        return text[:begin] + edit(text[begin:end]) + text[end:]

    return edited


def second_cpu_like_first(name: str) -> Edit:
    def edited(text: str) -> str:
        one, two, *_ = (part.split('"')[0] for part in text.split(f' {name}="')[1:])
        place = text.index(f' {name}="{two}"', text.index("</cpu>"))
        return text[:place] + text[place:].replace(f' {name}="{two}"', f' {name}="{one}"', 1)

    return edited


def without_lowest_cpu(text: str) -> str:
    groups = text.split(' affinity="')[1].split('"')[0].split(",")
    place = max(number for number, group in enumerate(groups) if int(group, 16))
    lowest = int(groups[place], 16) & (int(groups[place], 16) - 1)
    changed = [*groups[:place], f"{lowest:08x}", *groups[place + 1 :]]
    return text.replace(",".join(groups), ",".join(changed), 1)


def only_first_cpu(text: str) -> str:
    end = text.index("</cpu>") + len("</cpu>\n")
    return text[:end] + "</system>\n"


def nic_on_second_cpu(text: str) -> str:
    moved = block(text, NIC)
    text = text.replace(moved, "")
    place = text.index("\n", text.index("<cpu ", text.index("</cpu>"))) + 1
    return text[:place] + moved + text[place:]


def second_gpu_at_first(text: str) -> str:
    second = re.findall(r'busid="(\S+)" class="0x030200"', text)[1]
    return text.replace(f'busid="{second}"', f'busid="{GPU}"')


def nics_swapped(text: str) -> str:
    other = next(bus for bus in ("0000:16:00.0", "0000:2a:00.0") if f'busid="{bus}"' in text)
    return text.replace(NIC, "swap").replace(other, NIC).replace("swap", other)


def copied_bridge(text: str) -> str:
    return text.replace(
        block(text, BRIDGE), block(text, BRIDGE) + block(text, BRIDGE).replace(BRIDGE, "ffff:00:00.0"), 1
    )


def hexadecimal(tag: str, name: str) -> str:
    """An attribute's number in hex."""
    return re.sub(rf' {name}="(\d+)"', lambda found: f' {name}="{int(found[1]):#x}"', tag)


def all_guids_alike(text: str) -> str:
    return re.sub(r' guid="[^"]*"', ' guid="0x1"', text)


def two_guids_alike(text: str) -> str:
    one, two = list(dict.fromkeys(re.findall(r' guid="([^"]*)"', text)))[:2]
    return text.replace(two, one)


def without_line(part: str) -> Edit:
    return lambda text: "".join(line for line in text.splitlines(keepends=True) if part not in line)


MADE_UP = both(attribute("vendor", "0x0000"), attribute("device", "0x0000"))

CPUS = (
    Mutation("no NUMA node", first("cpu", left_out("numaid")), {"TOP024"}),
    Mutation("NUMA node in words", first("cpu", attribute("numaid", "zero")), {"TOP024"}),
    Mutation("NUMA node -1", first("cpu", attribute("numaid", "-1")), {"TOP024"}),
    Mutation("NUMA node of no socket", first("cpu", attribute("numaid", "99")), {"TOP024"}),
    Mutation("NUMA node twice", second_cpu_like_first("numaid"), {"TOP024", "TOP027"}),
    Mutation("CPUs as a range", first("cpu", attribute("affinity", "0-15")), {"TOP025"}),
    Mutation("CPUs in C's hex", first("cpu", attribute("affinity", "0xffff")), {"TOP025"}),
    Mutation("a short group inside", match(',00000000,(?=[0-9a-f]{8}["])|,ffff0000(?=,0)', ",0000,"), {"TOP025"}),
    Mutation("a digit of the first group lost", first("cpu", put('affinity="0', 'affinity="')), {"TOP026"}),
    Mutation("a group lost", first("cpu", put('affinity="00000000,', 'affinity="')), {"TOP026"}),
    Mutation("CPUs of another node", second_cpu_like_first("affinity"), {"TOP026", "TOP027"}),
    Mutation("a CPU left out", without_lowest_cpu, {"TOP027"}),
    Mutation("an arch of another spelling", first("cpu", attribute("arch", "amd64")), {"TOP040"}),
    Mutation("a vendor of another spelling", first("cpu", attribute("vendor", "Intel")), {"TOP040"}),
    Mutation("a family in hex", first("cpu", lambda tag: hexadecimal(tag, "familyid")), set()),
    Mutation("NUMA node with a zero before it", first("cpu", put('numaid="', 'numaid="0')), {"TOP024"}),
    Mutation("a longer arch", first("cpu", attribute("arch", "x86_64-v3")), set()),
    Mutation("an arch of other machines", first("cpu", attribute("arch", "arm64")), {"TOP027"}),
    Mutation("another maker", first("cpu", attribute("vendor", "CentaurHauls")), {"TOP027"}),
    Mutation("no arch", first("cpu", left_out("arch")), {"TOP050"}),
    Mutation("no masks", lambda text: text.replace(" affinity=", " name="), {"TOP049"}),
    Mutation("one node of several", only_first_cpu, {"TOP036", "TOP047"}),
    Mutation("a host's hash", first("cpu", put(" arch=", ' host_hash="0x1" arch=')), set()),
)

PCI = (
    Mutation("bus id in capitals", busid(GPU, "0000:0F:00.0"), MISTYPED),
    Mutation("bus id with a long domain", busid(GPU, "00000000:0f:00.0"), MISTYPED),
    Mutation("bus id without a function", busid(GPU, "0000:0f:00"), MISTYPED),
    Mutation("bus id without a domain", busid(NIC, "0c:00.0"), MISTYPED),
    Mutation("no bus id", on(BRIDGE, left_out("busid")), {"TOP028"}),
    Mutation("another GPU's bus id", second_gpu_at_first, {"TOP029", "TOP036", "TOP038", "TOP048"}),
    Mutation("made-up switch among devices", on(BRIDGE, MADE_UP), {"TOP030", "TOP059"}),
    Mutation("made-up switch", both(on(BRIDGE, MADE_UP), busid(BRIDGE, "ffff:0d:00.0")), set()),
    Mutation("no class", on(BRIDGE, left_out("class")), {"TOP052"}),
    Mutation(
        "class of a made-up switch left out", both(busid(BRIDGE, "sw1"), on("sw1", left_out("class"))), {"TOP031"}
    ),
    Mutation("class of a USB controller", on(BRIDGE, attribute("class", "0x0c0300")), set()),
    Mutation("class of a host's bridge", on(BRIDGE, attribute("class", "0x060000")), set()),
    Mutation("class in decimal", on(BRIDGE, attribute("class", "394240")), set()),
    Mutation("class of an NVSwitch", on(BRIDGE, attribute("class", "0x068000")), {"TOP031"}),
    Mutation("class of an NVLink bridge", on(BRIDGE, attribute("class", "0x068001")), {"TOP031"}),
    Mutation("a switch with an address in capitals", busid(BRIDGE, "FFFF:01:00.0"), set()),
    Mutation("a switch with a name for an address", busid(BRIDGE, "sw1"), set()),
    Mutation("an id without 0x", on(BRIDGE, attribute("vendor", "1000")), {"TOP053"}),
    Mutation("an id with a blank behind it", on(BRIDGE, attribute("vendor", "0X1000 ")), set()),
    Mutation("an id that is too long", on(BRIDGE, attribute("vendor", "0x10000")), {"TOP053"}),
    Mutation("an empty id", on(BRIDGE, attribute("vendor", "")), {"TOP053"}),
    Mutation("another id", on(BRIDGE, attribute("subsystem_vendor", "0x100")), {"TOP059"}),
    Mutation("another generation of subsystem", on(BRIDGE, attribute("subsystem_device", "0x7000")), {"TOP059"}),
    Mutation("the published id in decimal", on(BRIDGE, attribute("vendor", "4096")), set()),
    Mutation("an id that is no number", on(BRIDGE, attribute("device", "?xc030")), {"TOP053"}),
    Mutation("a NIC's second port", busid(NIC, "0000:0c:00.1"), {"TOP054"}),
    Mutation("a NIC's virtual function", busid(NIC, "0000:0c:01.3"), {"TOP054"}),
    Mutation("a NIC's first virtual function", busid(NIC, "0000:0c:01.0"), {"TOP054"}),
    Mutation("class of a NIC on a switch", on(BRIDGE, attribute("class", "0x020000")), {"TOP031", "TOP036"}),
    Mutation(
        "speed as sysfs has it without PCIe", on(BRIDGE, attribute("link_speed", "16.0 GT/s")), {"TOP032", "TOP042"}
    ),
    Mutation("speed as a generation", on(BRIDGE, attribute("link_speed", "Gen4")), {"TOP032", "TOP042"}),
    Mutation("empty speed", on(BRIDGE, attribute("link_speed", "")), {"TOP032", "TOP042"}),
    Mutation("speed of mixed spelling", on(BRIDGE, attribute("link_speed", "32 GT/s PCIe")), set()),
    Mutation("speed with more behind it", on(BRIDGE, attribute("link_speed", "32 GT/s PCIe/s")), set()),
    Mutation("speed with a blank behind it", on(BRIDGE, attribute("link_speed", "32.0 GT/s PCIe ")), set()),
    Mutation("speed of older kernels", on(BRIDGE, attribute("link_speed", "32 GT/s")), set()),
    Mutation("width in words", on(BRIDGE, attribute("link_width", "x16")), {"TOP033"}),
    Mutation("width in hex", on(BRIDGE, attribute("link_width", "0x10")), set()),
    Mutation("width with a unit", on(BRIDGE, attribute("link_width", "16x")), set()),
    Mutation("width with a blank", on(BRIDGE, attribute("link_width", " 16")), set()),
    Mutation("width with a zero before it", on(BRIDGE, attribute("link_width", "016")), {"TOP033", "TOP035", "TOP042"}),
    Mutation("width 0", on(BRIDGE, attribute("link_width", "0")), {"TOP033"}),
    Mutation("empty width", on(BRIDGE, attribute("link_width", "")), {"TOP033"}),
    Mutation("half the lanes on a switch", on(BRIDGE, attribute("link_width", "8")), {"TOP035", "TOP042"}),
    Mutation("slow link of a NIC", on(NIC, attribute("link_speed", "5.0 GT/s PCIe")), {"TOP034", "TOP042"}),
    Mutation("narrow link of a NIC", on(NIC, attribute("link_width", "2")), {"TOP034", "TOP042"}),
    Mutation("speed left to the system", on(GPU, both(left_out("link_speed"), left_out("link_width"))), set()),
    Mutation("a GPU left out", without(GPU), {"TOP036"}),
    Mutation("a NIC left out", without(NIC), {"TOP036"}),
    Mutation("a port left out", without_line('name="mlx5_18"'), {"TOP036"}),
    Mutation("a GPU too many", first("cpu", after(">", f"\n{_FOREIGN}")), {"TOP036"}),
    Mutation("a NIC of another bus", busid(NIC, "0000:ee:00.0"), {"TOP036"}),
    Mutation("a NIC on another socket", nic_on_second_cpu, {"TOP037"}),
    Mutation("two NICs swapped", nics_swapped, {"TOP037"}),
    Mutation("no vendor", on(BRIDGE, left_out("vendor")), {"TOP044"}),
    Mutation("no subsystem", on(BRIDGE, left_out("subsystem_device")), {"TOP044"}),
    Mutation("a branch kept", on(BRIDGE, put(" class", ' keep="1" class')), {"TOP045"}),
    Mutation("a mistyped attribute", on(BRIDGE, put("link_speed", "link_sped")), {"TOP049"}),
    Mutation("a switch copied", copied_bridge, {"TOP029", "TOP048"}),
)

DEVICES = (
    Mutation("another GPU's number", first("gpu", attribute("dev", "5")), {"TOP038"}),
    Mutation("a GPU removed by its number", first("gpu", attribute("dev", "-1")), {"TOP038"}),
    Mutation("another rank", first("gpu", attribute("rank", "5")), set()),
    Mutation("another compute capability", first("gpu", attribute("sm", "70")), {"TOP038"}),
    Mutation("another port's number", first("net", attribute("dev", "20")), set()),
    Mutation("GPUDirect off at a port", first("net", attribute("gdr", "0")), {"TOP056"}),
    Mutation("GPUDirect in words", first("net", attribute("gdr", "yes")), {"TOP056"}),
    Mutation("GPUDirect off at a GPU", first("gpu", attribute("gdr", "0")), {"TOP038", "TOP056"}),
    Mutation("one GUID for all adapters", all_guids_alike, {"TOP057"}),
    Mutation("one GUID for two adapters", two_guids_alike, {"TOP057"}),
    Mutation("one number for both ports", put('port="2"', 'port="1"'), {"TOP057"}),
    Mutation("no numbers of ports", lambda text: re.sub(r' port="\d"', "", text), {"TOP057"}),
    Mutation("no GUIDs", lambda text: re.sub(r' guid="[^"]*"', "", text), set()),
    Mutation("above a port with a name no speed", on(NIC, left_out("link_speed")), {"TOP050"}),
    Mutation("above a port with a name no width", on(NIC, left_out("link_width")), {"TOP050"}),
    Mutation("above a port with a name no class", on(NIC, left_out("class")), {"TOP050"}),
    Mutation("an element that is full", first("net", put(' speed="', " " * 9 + 'speed="')), {"TOP017", "TOP020"}),
    Mutation("a GUID for one of an adapter's ports", first("net", attribute("guid", "0x1")), {"TOP038"}),
    Mutation("a GUID of letters for one of them", first("net", attribute("guid", "a000")), {"TOP038"}),
    Mutation("an empty GUID for one of them", first("net", attribute("guid", "")), {"TOP038"}),
    Mutation("a GPU's number out of range", first("gpu", attribute("dev", "1000")), {"TOP038", "TOP058"}),
    Mutation("one connection a port", lambda text: re.sub(r' maxconn="\d+"', ' maxconn="1"', text), set()),
    Mutation("a coherent link", first("gpu", after(">", '\n<c2c bw="43125" count="8"/>')), {"TOP039", "TOP043"}),
    Mutation("another count of links", first("nvlink", attribute("count", "9")), {"TOP039"}),
    Mutation("a link to somewhere else", first("nvlink", attribute("target", "0000:77:00.0")), {"TOP039"}),
    Mutation("a link between switches", on(BRIDGE, after(">", f'\n<pcilink target="{NIC}"/>')), {"TOP039", "TOP043"}),
    Mutation("links without a count", first("nvlink", left_out("count")), {"TOP039", "TOP050"}),
    Mutation("a speed that no port has", first("net", attribute("speed", "999999999")), {"TOP041"}),
    Mutation("no speed", first("net", attribute("speed", "-1")), {"TOP041", "TOP042"}),
    Mutation("half the speed", first("net", attribute("speed", "50000")), {"TOP042"}),
    Mutation("a rail's number", first("net", put(" port", ' rail="0" port')), {"TOP043"}),
    Mutation("a plane's number", first("net", put(" port", ' plane="0" port')), {"TOP043"}),
    Mutation("a part of a GPU", first("gpu", put(" sm", ' mlopart="0" sm')), {"TOP043"}),
    Mutation("a port's name twice", put("mlx5_19", "mlx5_18"), {"TOP051"}),
    Mutation("an attribute of other tools", first("gpu", put(" sm", ' localrank="0" sm')), {"TOP049"}),
)

CONTENT = CPUS + PCI + DEVICES
