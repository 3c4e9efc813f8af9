# Sets RoCE up for a fabric that pauses instead of dropping: on each NIC trust in the packets' DSCP, priority flow
# control on one priority, congestion notification for it, the mark of the notifications; on its RDMA device RoCE v2 and
# the mark of its packets; on the host ECN for TCP. The switches need the same. No other NIC is touched.
#
# What sysfs shows is read there. Trust and flow control are read from the lines `Priority trust state:` and `enabled`
# of `mlnx_qos -i INTERFACE`; mark and RoCE version of connections that the RDMA connection manager makes are read by
# cma_roce_tos and cma_roce_mode, which print them alone. From the environment it reads, beside INTERFACES:
#
#   PRIORITY       of RDMA packets, 0 to 7
#   CNP_PRIORITY   of congestion notifications, 0 to 7, another one
#   DSCP           of RDMA packets: in PRIORITY's block of eight
#   CNP_DSCP       of congestion notifications: in CNP_PRIORITY's block of eight
#   PROC           where the kernel's settings are, for tests

PRIORITY=${PRIORITY:-}
CNP_PRIORITY=${CNP_PRIORITY:-}
DSCP=${DSCP:-}
CNP_DSCP=${CNP_DSCP:-}
PROC=${PROC:-/proc}
OFED="install DOCA-OFED on this node"

wants_settings() {
    wants_interfaces
    wants PRIORITY '[0-7]' "a priority from 0 to 7"
    wants CNP_PRIORITY '[0-7]' "a priority from 0 to 7"
    [[ -z $PRIORITY || $PRIORITY != "$CNP_PRIORITY" ]] || refuse CNP_PRIORITY "another priority than PRIORITY"
    wants_mark DSCP "$PRIORITY"
    wants_mark CNP_DSCP "$CNP_PRIORITY"
}

# The NICs sort packets into priorities by the upper three bits of their DSCP.
wants_mark() {
    [[ ${!1} =~ ^[1-9]?[0-9]$ && $2 =~ ^[0-7]$ ]] && ((${!1} / 8 == $2)) ||
        refuse "$1" "one of the eight DSCPs of its priority: 8 x priority and the next seven"
}

summary() { printf 'priority %s is lossless on all %s interfaces, DSCP %s' "$PRIORITY" "${#RAILS[@]}" "$DSCP"; }

visit() {
    local i program interface subject
    set_file "TCP" "ECN" 1 "$PROC/sys/net/ipv4/tcp_ecn"
    for program in mlnx_qos cma_roce_tos cma_roce_mode; do
        is_there "$program" || { cannot "lossless" "no program $program on this node" "$OFED" && return; }
    done
    for i in "${!RAILS[@]}"; do
        interface=${RAILS[i]}
        subject=$(rail "$i")
        if ! has_interface "$interface"; then
            lacks_interface "$i" "correct the rail's interface"
        elif is_infiniband "$interface"; then
            cannot "$subject" "InfiniBand, which has flow control of its own" "leave it out"
        else
            set_flow_control
            set_congestion_control
            set_marks
        fi
    done
}

# set_file SUBJECT WHAT VALUE FILE: RDMA's own files show a value behind an equals sign.
set_file() {
    local now
    if ! now=$(value "$4"); then
        cannot "$1" "$2 cannot be read in $4" "$OFED"
        return
    fi
    [[ ${now##*=} == "$3" ]] || wrong "$1" "$2 is ${now##*=}, not $3" "see this node's dmesg" write "$3" "$4"
}

# All of the following is about one rail, and sees the variables of visit.
set_flow_control() {
    local answer trust enabled wanted=(0 0 0 0 0 0 0 0) list
    wanted[PRIORITY]=1
    answer=$(bounded mlnx_qos -i "$interface" 2>&1) && [[ $answer =~ 'Priority trust state: '([a-z]+) ]] ||
        { cannot "$subject" "\`mlnx_qos -i $interface\` says '${answer//$'\n'/ }'" "$OFED" && return; }
    trust=${BASH_REMATCH[1]}
    [[ $trust == dscp ]] ||
        wrong "$subject" "trusts $trust, not dscp" "see this NIC's firmware" mlnx_qos -i "$interface" --trust dscp
    [[ $answer =~ enabled([[:space:]]+[01]){8} ]] ||
        { cannot "$subject" "\`mlnx_qos -i $interface\` shows no flow control" "$OFED" && return; }
    read -r -a enabled <<<"${BASH_REMATCH[0]#enabled}"
    printf -v list '%s,' "${wanted[@]}"
    [[ ${enabled[*]} == "${wanted[*]}" ]] ||
        wrong "$subject" "flow control on the priorities '${enabled[*]}', not '${wanted[*]}'" \
            "see this NIC's firmware" mlnx_qos -i "$interface" --pfc "${list%,}"
}

set_congestion_control() {
    local ecn=$NET/$interface/ecn
    set_file "$subject" "congestion notification of priority $PRIORITY" 1 "$ecn/roce_np/enable/$PRIORITY"
    set_file "$subject" "reaction to congestion of priority $PRIORITY" 1 "$ecn/roce_rp/enable/$PRIORITY"
    set_file "$subject" "DSCP of congestion notifications" "$CNP_DSCP" "$ecn/roce_np/cnp_dscp"
}

set_marks() {
    local path device class=$((DSCP << 2)) tos mode
    path=$(printf '%s\n' "$NET/$interface/device/infiniband/"*)
    device=${path##*/}
    [[ -e $path ]] ||
        { cannot "$subject" "no RDMA device" "look for mlx5_core in this node's dmesg" && return; }
    set_file "$subject" "traffic class of $device" "$class" "$SYS/class/infiniband/$device/tc/1/traffic_class"
    if ! tos=$(bounded cma_roce_tos -d "$device" 2>&1); then
        # What the connection manager's settings need.
        wrong "$subject" "\`cma_roce_tos -d $device\` says '$tos'" "$OFED" modprobe rdma_cm || return 0
        [[ $DOING == change ]] || return 0
        tos=$(bounded cma_roce_tos -d "$device" 2>&1)
    fi
    [[ $tos == "$class" ]] ||
        wrong "$subject" "connection manager marks $device with $tos, not $class" "$OFED" \
            cma_roce_tos -d "$device" -t "$class"
    mode=$(bounded cma_roce_mode -d "$device" -p 1 2>&1)
    [[ $mode == "RoCE v2" ]] ||
        wrong "$subject" "connection manager uses '$mode' on $device, not RoCE v2" "$OFED" \
            cma_roce_mode -d "$device" -p 1 -m 2
}

main "$@" </dev/null
exit $?
