#!/bin/bash
# Makes the SR-IOV virtual functions of a GPU node's RDMA NICs, and says whether they are there.
#
#   bash -s -- configure < virtual_functions.sh   make them, retry after a pause while something lacks, then sleep
#   bash -s -- once      < virtual_functions.sh   make them; exit status 1 where something lacks
#   bash -s -- check     < virtual_functions.sh   exit status 0 if all is as wanted, else 1 and a line for each NIC
#
# A privileged pod runs it in the root file system, network and process namespace of the node, so it uses the node's
# own ip, rdma, crictl and /sys. From the environment it reads:
#
#   PCI_ADDRESSES   the NICs in rail order, separated by spaces, each with its domain: 0000:0c:00.0
#   VFS_PER_NIC     virtual functions wanted on each of them
#   MTU             bytes, for the NICs; empty leaves it as it is
#   RDMA_MODE       shared or exclusive: the RDMA subsystem's network-namespace mode
#   WAIT_SECONDS    the longest that any one wait or command may take
#   RETRY_SECONDS   `configure`: the first pause before another try; each pause is twice the last, 300 at most
#   PLUGIN_POD      the device plug-in that has to look again, NAMESPACE/BEGINNING-OF-ITS-POD-NAME; may be empty
#   SYS             where sysfs is mounted
#   MODPROBE_DIR    the folder of the node's module options

# shellcheck disable=SC2329 # conditions are called by name, through `within`
set -u -o pipefail
export LC_ALL=C
# A container's PATH often lacks the folders in which nodes keep ip, rdma and crictl.
export PATH="${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin"

SYS=${SYS:-/sys}
MODPROBE_DIR=${MODPROBE_DIR:-/etc/modprobe.d}
RDMA_MODE=${RDMA_MODE:-}
VFS_PER_NIC=${VFS_PER_NIC:-}
MTU=${MTU:-}
WAIT_SECONDS=${WAIT_SECONDS:-300}
RETRY_SECONDS=${RETRY_SECONDS:-10}
PLUGIN_POD=${PLUGIN_POD:-}
read -r -d '' -a NICS <<<"${PCI_ADDRESSES:-}"
DEVICES=$SYS/bus/pci/devices
LOOK="look for mlx5_core in this node's dmesg"
PLUGIN_IS_STALE=false # stays true over failed tries, until the device plug-in was made to look again

say() { printf '%s\n' "$*"; }

failed() {
    local words="$*"
    printf 'FAILED %s\n' "${words//$'\n'/ }" >&2
    return 1
}

# A sleep in the foreground would hold TERM back until it ends.
pause() {
    sleep "$1" &
    wait "$!"
}

end() {
    local job
    for job in $(jobs -p); do kill "$job"; done
    exit 143
}

bounded() { timeout "$WAIT_SECONDS" "$@"; }

# within END COMMAND...: asks again and again until COMMAND succeeds; status 1 once the second END is over.
within() {
    local last=$1
    shift
    until "$@"; do
        ((SECONDS > last)) && return 1
        pause 0.05
    done
}

soon() { within $((SECONDS + WAIT_SECONDS)) "$@"; }

# store VALUE FILE: status 1 and the kernel's words in $said where the file does not take the value.
store() { said=$({ printf '%s\n' "$1" >"$2"; } 2>&1); }

value() { cat "$1" 2>/dev/null; }

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

rail() { printf 'rail %s, NIC %s' "$1" "${NICS[$1]}"; }

rdma_mode() {
    local answer
    answer=$(bounded rdma system show 2>&1) && [[ $answer =~ netns\ ([a-z]+) ]] ||
        failed "RDMA mode: \`rdma system show\` says '$answer'; this node needs iproute2's rdma, and ib_core" ||
        return 1
    printf '%s\n' "${BASH_REMATCH[1]}"
}

# Has the node's next start begin in the wanted mode, which ib_core knows as 1 (shared) or 0 (exclusive).
keep_rdma_mode() {
    local file=$MODPROBE_DIR/gpu-fabric-rdma.conf shared=1
    [[ $RDMA_MODE == exclusive ]] && shared=0
    local option="options ib_core netns_mode=$shared"
    [[ $(value "$file") == "$option" ]] && return 0
    store "$option" "$file" || failed "RDMA mode: cannot write $file: $said; make it writable on this node" || return 1
    say "RDMA mode: wrote '$option' to $file"
}

set_rdma_mode() {
    local mode words
    mode=$(rdma_mode) || return 1
    if [[ $mode == "$RDMA_MODE" ]]; then
        # Only a file of an earlier wish is put right: without one, something else already sees to the mode.
        [[ ! -e $MODPROBE_DIR/gpu-fabric-rdma.conf ]] || keep_rdma_mode
        return
    fi
    # The kernel refuses as soon as there is a second network namespace, which is the rule where pods run.
    if words=$(bounded rdma system set netns "$RDMA_MODE" 2>&1); then
        say "RDMA mode: changed from $mode to $RDMA_MODE"
        keep_rdma_mode
        return
    fi
    keep_rdma_mode || return 1
    failed "RDMA mode: $mode, and the kernel refuses $RDMA_MODE while pods run ($words);" \
        "reboot this node (if its initramfs loads ib_core, rebuild that first)"
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

configure() {
    local delay=$RETRY_SECONDS
    until set_up; do
        say "trying again in $delay s"
        pause "$delay"
        delay=$((delay * 2 < 300 ? delay * 2 : 300))
    done
    while :; do
        pause infinity
    done
}

# wants NAME PATTERN ADVICE: whether the variable NAME is as the pattern says.
wants() { [[ ${!1} =~ ^($2)$ ]] || failed "$1 is '${!1}'; give $3"; }

is_well_configured() {
    local nic number='[1-9][0-9]*'
    wants VFS_PER_NIC "$number" "a whole number from 1" &&
        wants MTU "($number)?" "bytes, or nothing" &&
        wants RDMA_MODE "shared|exclusive" "shared or exclusive" &&
        wants WAIT_SECONDS "$number" "whole seconds from 1" &&
        wants RETRY_SECONDS "$number" "whole seconds from 1" &&
        wants PLUGIN_POD "([^/]+/[^/]+)?" "NAMESPACE/NAME, or nothing" || return 1
    ((${#NICS[@]})) || failed "PCI_ADDRESSES names no NIC; give one such as 0000:0c:00.0" || return 1
    for nic in "${NICS[@]}"; do
        wants nic '[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]' "PCI_ADDRESSES as in 0000:0c:00.0" || return 1
    done
}

main() {
    trap end TERM INT
    is_well_configured || return 2
    case ${1:-} in
        configure) configure ;;
        once) set_up ;;
        check) check ;;
        *)
            failed "mode is '${1:-}'; give configure, once or check"
            return 2
            ;;
    esac
}

# The script itself comes in on standard input, which no command may swallow.
main "$@" </dev/null
exit $?
