# The same on NICs that pods claim from DRANET, which takes each into its pod with the addresses that it has here, and
# returns it without them. A NIC that a pod has is passed over: its driver is bound, and none of its interfaces is on
# this host. From the environment it reads, besides:
#
#   CLAIMED   INTERFACE=PCI_ADDRESS of each rail's NIC, separated by spaces

CLAIMED=${CLAIMED:-}

eval "of_all_$(declare -f wants_settings)"
eval "of_all_$(declare -f visit)"
eval "on_host_$(declare -f set_link)"

wants_settings() {
    of_all_wants_settings
    wants CLAIMED '([^/=[:space:]]{1,15}=[0-9a-f]{4,}(:[0-9a-f]{2}){2}\.[0-7] ?)+' "INTERFACE=PCI_ADDRESS of each NIC"
}

visit() {
    claimed=
    of_all_visit
}

set_link() {
    if is_claimed; then
        claimed+=" $rail"
        return 1
    fi
    on_host_set_link
}

is_claimed() {
    local nic device
    for nic in $CLAIMED; do
        [[ ${nic%%=*} == "$interface" ]] || continue
        device=$SYS/bus/pci/devices/${nic#*=}
        [[ -e $device/driver ]] && ! compgen -G "$device/net/*" >/dev/null
        return
    done
    return 1
}

summary() {
    printf 'all %s rails have the addresses of the plan' "$count"
    [[ -z $claimed ]] || printf ', but for those that pods have:%s' "$claimed"
}

main "$@" </dev/null
exit $?
