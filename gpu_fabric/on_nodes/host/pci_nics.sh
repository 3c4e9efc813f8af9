# Part of the scripts that name NICs by their place on the PCI bus. From the environment they read:
#
#   PCI_ADDRESSES   the NICs in rail order, separated by spaces, each with its domain: 0000:0c:00.0

PCI_ADDRESSES=${PCI_ADDRESSES:-}
read -r -d '' -a NICS <<<"$PCI_ADDRESSES"
DEVICES=$SYS/bus/pci/devices

rail() { printf 'rail %s, NIC %s' "$1" "${NICS[$1]}"; }

wants_nics() {
    local nic
    ((${#NICS[@]})) || refuse PCI_ADDRESSES "at least one NIC, such as 0000:0c:00.0"
    for nic in "${NICS[@]}"; do
        wants nic '[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]' "PCI_ADDRESSES as in 0000:0c:00.0"
    done
}
