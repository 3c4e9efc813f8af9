# Makes the SR-IOV virtual functions of a GPU node's RDMA NICs, and says whether they are there. Once they are, it
# looks no more: the kernel keeps them until the node's next start. It uses the node's own ip, rdma, crictl and /sys.
# From the environment it reads, beside PCI_ADDRESSES and RDMA_MODE:
#
#   VFS_PER_NIC   virtual functions wanted on each NIC
#   MTU           bytes, for the NICs; empty leaves it as it is
#   PLUGIN_POD    the device plug-in that has to look again, NAMESPACE/BEGINNING-OF-ITS-POD-NAME; may be empty

VFS_PER_NIC=${VFS_PER_NIC:-}
MTU=${MTU:-}
PLUGIN_POD=${PLUGIN_POD:-}
LOOK_AGAIN_SECONDS=infinity
LOOK="look for mlx5_core in this node's dmesg"
PLUGIN_IS_STALE=false # stays true over failed tries, until the device plug-in was made to look again

# The network interface of a PCI function. None is seen while it is in the network namespace of a pod.
interface_of() {
    local path
    for path in "$DEVICES/$1/net/"*; do
        [[ -e $path ]] || return 1
        printf '%s\n' "${path##*/}"
        return 0
    done
}

has_interface() { interface_of "$1" >/dev/null; }
is_present() { [[ -d $DEVICES/$1 ]] && has_interface "$1"; }
is_bound() { [[ -L $DEVICES/$1/driver ]]; }
is_unbound() { ! is_bound "$1"; }
is_usable() { is_bound "$1" && has_interface "$1"; }
is_infiniband() { [[ $(value "$DEVICES/$1/net/$2/type") == 32 ]]; }
has_no_functions() { [[ ! -L $DEVICES/$1/virtfn0 ]]; }
has_wanted_count() { [[ $(value "$DEVICES/$1/sriov_numvfs") == "$VFS_PER_NIC" ]]; }

# The virtual functions of a NIC by number, as PCI addresses.
functions_of() {
    local number=0 link
    while link=$(readlink "$DEVICES/$1/virtfn$number"); do
        printf '%s\n' "${link##*/}"
        number=$((number + 1))
    done
}

has_usable_functions() {
    local vf count=0
    for vf in $(functions_of "$1"); do
        is_usable "$vf" || return 1
        count=$((count + 1))
    done
    ((count == VFS_PER_NIC))
}

# Looks at every NIC before anything is changed, so that a node with a broken NIC keeps what it has.
find_nics() {
    local i total status=0 last=$((SECONDS + WAIT_SECONDS))
    for i in "${!NICS[@]}"; do
        if ! within "$last" is_present "${NICS[i]}"; then
            if [[ -d $DEVICES/${NICS[i]} ]]; then
                failed "$(rail "$i"): no network interface after $WAIT_SECONDS s; $LOOK"
            else
                failed "$(rail "$i"): no such PCI device after $WAIT_SECONDS s; see \`lspci -D -d 15b3:\` of this node"
            fi
            status=1
            continue
        fi
        total=$(value "$DEVICES/${NICS[i]}/sriov_totalvfs")
        if ((${total:-0} < VFS_PER_NIC)); then
            failed "$(rail "$i"): allows ${total:-0} virtual functions, $VFS_PER_NIC wanted; raise NUM_OF_VFS" \
                "(with SRIOV_EN=1) by mlxconfig and reset the NIC, or ask for fewer"
            status=1
        fi
    done
    return "$status"
}

# The kernel refuses to change a count that is not 0. All wrong counts are cleared before the first function is made:
# a function made in between would take the device number that the next rail's function frees.
clear_wrong_counts() {
    local i nic count vf
    for i in "${!NICS[@]}"; do
        nic=${NICS[i]}
        count=$(value "$DEVICES/$nic/sriov_numvfs")
        ((count == 0 || count == VFS_PER_NIC)) && continue
        for vf in $(functions_of "$nic"); do
            ! is_bound "$vf" || has_interface "$vf" ||
                failed "$(rail "$i"): a pod holds virtual function $vf, so their number stays; drain this node" ||
                return 1
        done
        say "$(rail "$i"): removing $count virtual functions, $VFS_PER_NIC wanted"
        PLUGIN_IS_STALE=true
        store 0 "$DEVICES/$nic/sriov_numvfs" && soon has_no_functions "$nic" ||
            failed "$(rail "$i"): the kernel keeps its virtual functions${said:+: $said}; drain and reboot this node" ||
            return 1
    done
}

make_functions() {
    local nic=${NICS[$1]}
    has_wanted_count "$nic" && return 0
    PLUGIN_IS_STALE=true
    store "$VFS_PER_NIC" "$DEVICES/$nic/sriov_numvfs" ||
        failed "$(rail "$1"): the kernel makes no virtual functions: $said; $LOOK" || return 1
    soon has_usable_functions "$nic" ||
        failed "$(rail "$1"): a virtual function lacks driver or network interface after $WAIT_SECONDS s; $LOOK" ||
        return 1
    say "$(rail "$1"): made $VFS_PER_NIC virtual functions: $(functions_of "$nic" | tr '\n' ' ')"
}

set_mtu() {
    local words
    [[ $(value "$DEVICES/$2/net/$3/mtu") == "$4" ]] && return 0
    words=$(bounded ip link set dev "$3" mtu "$4" 2>&1) ||
        failed "$(rail "$1"): $3 does not take MTU $4: $words; choose one that this NIC allows" || return 1
    say "$(rail "$1"): MTU of $3 set to $4"
}

# The MAC address that the NIC gives its function, in the old and the new words of ip.
assigned_mac() {
    local word number kind mac rest
    bounded ip link show dev "$1" 2>/dev/null | while read -r word number kind mac rest; do
        [[ $word == vf && $number == "$2" && $kind =~ ^(link/ether|MAC)$ ]] && printf '%s\n' "${mac%,}"
    done
}

# steer RAIL FUNCTION bind|unbind CONDITION: gives a function its driver, or takes it away, and waits for CONDITION.
steer() {
    store "$2" "$SYS/bus/pci/drivers/mlx5_core/$3" && soon "$4" "$2" ||
        failed "$(rail "$1"): no $3 of virtual function $2${said:+: $said}; $LOOK" || return 1
}

# A function without driver is what an interrupted rebind leaves.
bind_functions() {
    local vf
    for vf in $(functions_of "${NICS[$1]}"); do
        is_bound "$vf" || steer "$1" "$vf" bind is_usable || return 1
    done
}

# A function takes its RDMA identity (node GUID) from the MAC address assigned by the NIC when the driver binds it.
# InfiniBand functions have no MAC address, and their GUIDs are for ib-kubernetes and the subnet manager to give.
assign_macs() {
    local nic=${NICS[$1]} vf interface mac words number=-1
    is_infiniband "$nic" "$2" && return 0
    for vf in $(functions_of "$nic"); do
        number=$((number + 1))
        # Without a visible interface a pod holds it.
        interface=$(interface_of "$vf") || continue
        mac=$(value "$DEVICES/$vf/net/$interface/address")
        [[ $(assigned_mac "$2" "$number") == "$mac" ]] && continue
        words=$(bounded ip link set dev "$2" vf "$number" mac "$mac" 2>&1) ||
            failed "$(rail "$1"): $2 assigns no MAC address to virtual function $vf: $words; $LOOK" || return 1
        PLUGIN_IS_STALE=true
        steer "$1" "$vf" unbind is_unbound && steer "$1" "$vf" bind is_usable || return 1
        say "$(rail "$1"): virtual function $vf has the MAC address $mac"
    done
}

# A function's interface may not exceed its NIC's MTU.
lower_mtus() {
    local vf interface mtu most
    most=$(value "$DEVICES/${NICS[$1]}/net/$2/mtu")
    for vf in $(functions_of "${NICS[$1]}"); do
        interface=$(interface_of "$vf") || continue
        mtu=$(value "$DEVICES/$vf/net/$interface/mtu")
        ((${mtu:-0} <= ${most:-0})) || set_mtu "$1" "$vf" "$interface" "$most" || return 1
    done
}

prepare_nic() {
    local interface
    interface=$(interface_of "${NICS[$1]}") ||
        failed "$(rail "$1"): its network interface is gone; $LOOK" || return 1
    [[ -z $MTU ]] || set_mtu "$1" "${NICS[$1]}" "$interface" "$MTU" || return 1
    make_functions "$1" && bind_functions "$1" && assign_macs "$1" "$interface" && lower_mtus "$1" "$interface"
}

# The device plug-in looks for functions only when it starts; the kubelet makes a removed pod again.
renew_plugin() {
    local pods pod words namespace=${PLUGIN_POD%%/*} name=${PLUGIN_POD#*/}
    [[ $PLUGIN_IS_STALE == true && -n $PLUGIN_POD ]] || return 0
    if ! command -v crictl >/dev/null; then
        say "device plug-in: no crictl on this node; delete the pod $PLUGIN_POD* of this node so that it looks again"
        return 0
    fi
    # crictl itself gives up after 2 seconds unless told otherwise, and prints warnings beside its answer.
    local ask=(bounded crictl --timeout "${WAIT_SECONDS}s")
    pods=$("${ask[@]}" pods --quiet --state ready --namespace "^$namespace\$" --name "^$name" 2>/dev/null) ||
        failed "device plug-in: \`crictl pods\` fails on this node; delete this node's pod $PLUGIN_POD*" || return 1
    for pod in $pods; do
        words=$("${ask[@]}" rmp --force "$pod" 2>&1) ||
            failed "device plug-in: pod $pod stays: $words; delete this node's pod $PLUGIN_POD*" || return 1
        say "device plug-in: removed pod $pod so that it looks again"
    done
    PLUGIN_IS_STALE=false
}

# One NIC after the other, and none after one that fails: the numbers of the functions' RDMA devices follow the order
# in which they are made, and NCCL's topology files name those numbers. Nothing is made under a wrong RDMA mode,
# so that no pod is sent to a node on which its network cannot come up.
set_up() {
    local i
    set_rdma_mode && find_nics && clear_wrong_counts || return 1
    for i in "${!NICS[@]}"; do
        prepare_nic "$i" || return 1
    done
    check && renew_plugin || return 1
    say "ready: ${#NICS[@]} NICs with $VFS_PER_NIC virtual functions each, RDMA mode $RDMA_MODE"
}

# What a NIC lacks, in words separated by semicolons.
lacks() {
    local nic=$1 vf count=0 interface mtu
    [[ -d $DEVICES/$nic ]] || { printf 'no such PCI device' && return; }
    for vf in $(functions_of "$nic"); do
        count=$((count + 1))
        is_bound "$vf" || printf 'virtual function %s has no driver; ' "$vf"
    done
    ((count == VFS_PER_NIC)) || printf '%s virtual functions, not %s; ' "$count" "$VFS_PER_NIC"
    interface=$(interface_of "$nic") || { printf 'no network interface' && return; }
    mtu=$(value "$DEVICES/$nic/net/$interface/mtu")
    [[ -z $MTU || $mtu == "$MTU" ]] || printf 'MTU %s, not %s' "$mtu" "$MTU"
}

check() {
    local i lack mode status=0
    mode=$(rdma_mode) || status=1
    if [[ -n $mode && $mode != "$RDMA_MODE" ]]; then
        say "RDMA mode: $mode, not $RDMA_MODE"
        status=1
    fi
    for i in "${!NICS[@]}"; do
        lack=$(lacks "${NICS[i]}")
        [[ -n $lack ]] || continue
        say "$(rail "$i"): ${lack%; }"
        status=1
    done
    return "$status"
}

wants_settings() {
    wants VFS_PER_NIC "$NUMBER" "a whole number from 1"
    wants MTU "($NUMBER)?" "bytes, or nothing"
    wants PLUGIN_POD "([^/]+/[^/]+)?" "NAMESPACE/NAME, or nothing"
    wants_rdma_mode
    wants_nics
}

main "$@" </dev/null
exit $?
