#!/bin/bash
# Is called as the CNI plug-in `rdma`, and calls it. The plug-in moves the RDMA device of a virtual function, which igb
# does not have: rxe makes one on top of the pod's interface, and a folder names it where sysfs has the NICs' own.
set -e
config=$(cat)
function=${config#*\"deviceID\":\"}
function=${function%%\"*}
device=rxe-${function//[:.]/-}

[[ $CNI_COMMAND != ADD ]] || nsenter --net="$CNI_NETNS" rdma link add "$device" type rxe netdev "$CNI_IFNAME" >&2
# shellcheck disable=SC2016 # the inner Bash has arguments of its own
unshare --mount bash -c '
    mount -t tmpfs devices /sys/bus/pci/devices
    mkdir -p "/sys/bus/pci/devices/$1/infiniband/$2"
    exec /opt/cni/bin/rdma-itself' bash "$function" "$device" <<<"$config"
[[ $CNI_COMMAND != DEL ]] || rdma link delete "$device"
