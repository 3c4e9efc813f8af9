# Looks whether the ports of the NICs are of the wanted link type, and may set it in their firmware, which takes it at
# the node's next start. It never resets a NIC: a reset takes the NIC away from all pods. From the environment it reads,
# beside PCI_ADDRESSES:
#
#   LINK_TYPE   ether or infiniband
#   CHANGE      true or false: whether a wrong type is set in the firmware, by mlxconfig, or only told

LINK_TYPE=${LINK_TYPE:-}
CHANGE=${CHANGE:-}
declare -A LAYERS=([ether]=Ethernet [infiniband]=InfiniBand)
# As the firmware numbers them.
declare -A NUMBERS=([infiniband]=1 [ether]=2)

wants_settings() {
    wants LINK_TYPE "ether|infiniband" "ether or infiniband"
    wants CHANGE "true|false" "true or false"
    wants_nics
}

summary() { printf 'all %s NICs are %s' "${#NICS[@]}" "${LAYERS[$LINK_TYPE]}"; }

visit() {
    local i layer
    for i in "${!NICS[@]}"; do
        layer=$(cat "$DEVICES/${NICS[i]}"/infiniband/*/ports/1/link_layer 2>/dev/null)
        if [[ ! -d $DEVICES/${NICS[i]} ]]; then
            cannot "$(rail "$i")" "no such PCI device" "see \`lspci -D -d 15b3:\` of this node"
        elif [[ -z $layer ]]; then
            cannot "$(rail "$i")" "no RDMA device" "look for mlx5_core in this node's dmesg, or for a pod that holds it"
        elif [[ $layer != "${LAYERS[$LINK_TYPE]}" ]]; then
            change_type "$(rail "$i")" "${NICS[i]}" "$layer, not ${LAYERS[$LINK_TYPE]}"
        fi
    done
}

# change_type SUBJECT NIC LACK
change_type() {
    local words key shown number=${NUMBERS[$LINK_TYPE]} advice="set it by mlxconfig, and reboot this node"
    if [[ $CHANGE == false || $DOING == check ]]; then
        cannot "$1" "$3" "$advice"
        return
    fi
    if ! words=$(bounded mlxconfig -d "$2" q 2>&1); then
        cannot "$1" "$3, and \`mlxconfig -d $2 q\` fails: $words" "install mlxconfig (MFT, of DOCA-OFED) on this node"
        return
    fi
    # The functions of a card share its settings, in which their ports are numbered from 1.
    key=LINK_TYPE_P$((${2##*.} + 1))
    [[ $words == *$key* ]] || key=LINK_TYPE_P1
    # The first number in brackets is what the next start takes, as in IB(1).
    shown="${key}[[:space:]]+[^(]*\\(([0-9]+)\\)"
    if [[ ! $words =~ $shown ]]; then
        cannot "$1" "$3, and its firmware has no $key" "this NIC cannot be changed: use another one"
        return
    fi
    if [[ ${BASH_REMATCH[1]} != "$number" ]]; then
        wrong "$1" "$3" "$advice" mlxconfig -d "$2" -y set "$key=$number" || return 0
        [[ $DOING == change ]] || return 0
    fi
    needs_reboot "$1" "$3" "its firmware has $key=$number for the next start"
}

main "$@" </dev/null
exit $?
