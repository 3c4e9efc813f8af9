#!/bin/bash
# The first process of the machine that tests/node boots: it loads what a node has, and then runs what comes in.
#
# A script comes as a line of base64, and is answered by one: exit status, output and errors, the latter two in base64.
# The machine powers itself off when the port is closed, so none outlives the tests that started it.

export PATH=/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /run
mount -t tmpfs tmp /tmp
mkdir -p /var/lib/cni /etc/modprobe.d
for module in igb igbvf rdma_rxe ib_uverbs macvlan; do modprobe "$module"; done
# Named by the kernel in the order of their PCI addresses.
ip link set eth0 name rdma0
ip link set eth1 name far0

exec 3<>/dev/vport0p1
echo ready >&3
while read -r -u 3 line; do
    base64 -d <<<"$line" >/tmp/script
    bash /tmp/script </dev/null >/tmp/output 2>/tmp/errors 3>&-
    echo "$? $(base64 -w 0 /tmp/output) $(base64 -w 0 /tmp/errors)" >&3
done
echo o >/proc/sysrq-trigger
sleep 60
