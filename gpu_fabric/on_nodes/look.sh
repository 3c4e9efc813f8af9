#!/bin/bash
# What a node has, for `gpu-fabric discover`: read from sysfs, and from nvidia-smi and setpci where the node has them.
# It runs in the node's own root file system, which is read-only to it (a here-document of an older Bash would need a
# temporary file), and changes nothing. Each line is a record of fields between tabs, and the
# last one counts them, so that a text that was cut is seen.
#
#   SYS    where sysfs is mounted
#   PROC   where procfs is mounted

set -u
export LC_ALL=C
export PATH="${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYS=${SYS:-/sys}
PROC=${PROC:-/proc}
ADDRESS='[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]'
count=0
line=''

begin() { line="$1"$'\t'"$2"; }

finish() {
    count=$((count + 1))
    printf '%s\n' "$line"
}

add() { line+=$'\t'"$1=${2//$'\t'/ }"; }

# value FILE: its first line is in $text, which is empty where there is no file, or where the kernel does not give it,
# as it does with the speed of a link that is down.
value() {
    text=''
    { read -r text <"$1"; } 2>/dev/null
}

# add_value KEY FILE
add_value() {
    local text
    value "$2"
    add "$1" "$text"
}

# place LINK: what it leads to is in $found. By `cd`, which starts no program.
place() {
    found=''
    cd -P "$1" 2>/dev/null && found=$PWD
}

# add_target KEY LINK: the last part of what a link leads to.
add_target() {
    local found
    place "$2"
    add "$1" "${found##*/}"
}

# The addresses of the bridges above a PCI function, from the root, with commas.
add_bridges() {
    local found part bridges='' IFS=/
    place "$1"
    for part in ${found%/*}; do
        [[ $part =~ ^$ADDRESS$ ]] && bridges+=,$part
    done
    add path "${bridges#,}"
}

node() {
    local text mode=''
    # By `rdma system`, too: the kernel's parameter is the variable that this command sets.
    value "$SYS/module/ib_core/parameters/netns_mode"
    case $text in
        Y) mode=shared ;;
        N) mode=exclusive ;;
    esac
    begin node "rdma=$mode"
    add_value product "$SYS/class/dmi/id/product_name"
    add_value kernel "$PROC/sys/kernel/osrelease"
    for module in mlx5_core nvidia amdgpu; do
        add_value "$module" "$SYS/module/$module/version"
    done
    finish
}

functions() {
    local path text key
    for path in "$SYS"/bus/pci/devices/*; do
        value "$path/class"
        # Network, display and processing controllers: NICs and GPUs.
        [[ $text =~ ^0x(02|03|12) ]] || continue
        begin pci "${path##*/}"
        add class "${text:2:4}"
        for key in vendor device numa_node sriov_numvfs sriov_totalvfs; do
            add_value "$key" "$path/$key"
        done
        add_target driver "$path/driver"
        add_target physical "$path/physfn"
        add_bridges "$path"
        finish
    done
}

rdma_devices() {
    local path port text device
    local -A versions=()
    for path in "$SYS"/class/infiniband_verbs/*; do
        value "$path/ibdev"
        device=$text
        value "$path/abi_version"
        [ -z "$device" ] || versions[$device]=$text
    done
    for path in "$SYS"/class/infiniband/*; do
        for port in "$path"/ports/*; do
            [[ -d $port ]] || continue
            begin rdma "${path##*/}"
            add port "${port##*/}"
            add_target pci "$path/device"
            add_value layer "$port/link_layer"
            add_value rate "$port/rate"
            add_value state "$port/state"
            add_value firmware "$path/fw_ver"
            add abi "${versions[${path##*/}]:-}"
            finish
        done
    done
}

interfaces() {
    local path key
    for path in "$SYS"/class/net/*; do
        [[ -e $path/device ]] || continue
        begin net "${path##*/}"
        add_target pci "$path/device"
        for key in type mtu speed; do
            add_value "$key" "$path/$key"
        done
        finish
    done
}

gpus() {
    local list row IFS=$'\n'
    command -v nvidia-smi >/dev/null || return 0
    list=$(timeout 60 nvidia-smi --query-gpu=index,pci.bus_id,name,memory.total --format=csv,noheader,nounits)
    for row in $list; do
        # Where the driver does not run, nvidia-smi prints a message instead.
        [[ $row =~ ^([0-9]+),\ *([^,]+),\ *([^,]+),\ *([0-9]+) ]] || continue
        begin gpu "${BASH_REMATCH[1]}"
        add pci "${BASH_REMATCH[2]}"
        add name "${BASH_REMATCH[3]}"
        add memory "${BASH_REMATCH[4]}"
        finish
    done
}

# Functions that send what NICs and GPUs say to each other by way of the CPU.
access_control() {
    local path word
    if ! command -v setpci >/dev/null; then
        begin acs unknown
        finish
        return
    fi
    for path in "$SYS"/bus/pci/devices/*; do
        # A function without the capability is an error to setpci.
        word=$(timeout 10 setpci -s "${path##*/}" ECAP_ACS+6.w 2>/dev/null) || continue
        [[ $word =~ ^0+$ ]] && continue
        begin acs "${path##*/}"
        add control "$word"
        finish
    done
}

begin gpu-fabric-look 1
finish
node
functions
rdma_devices
interfaces
gpus
access_control
begin end "$count"
finish
