# Turns PCI Access Control Services off, so that NICs and GPUs reach each other below a switch or bridge instead of by
# way of the CPU: the control word of every PCI function that has the capability becomes 0000. The node's next start
# brings it back, which is why a DaemonSet looks after it. Not for a host of virtual machines: ACS keeps them apart.

DEVICES=$SYS/bus/pci/devices

wants_settings() { :; }

summary() { printf 'ACS is off at all %s PCI functions that have it' "$count"; }

visit() {
    local path function word register=ECAP_ACS+6.w
    count=0
    if ! is_there setpci; then
        cannot "ACS" "no program setpci on this node" "install pciutils on it"
        return
    fi
    for path in "$DEVICES"/*; do
        function=${path##*/}
        # A function without the capability is an error to setpci.
        word=$(bounded setpci -s "$function" "$register" 2>/dev/null) || continue
        count=$((count + 1))
        [[ $word =~ ^0+$ ]] ||
            wrong "PCI function $function" "ACS control $word, not 0000" \
                "turn ACS (IO virtualisation, VT-d) off in the BIOS" \
                setpci -s "$function" "$register=0000"
    done
}

main "$@" </dev/null
exit $?
