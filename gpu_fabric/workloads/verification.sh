#!/bin/bash
# The fabric's verification, in each pod of its job. The first argument says what this one does:
#   both          a worker that also launches, in the pod of index 0 of a plain Job (other indexes: worker)
#   worker        ssh's server, until the launcher says that all is over
#   launch        measure each rail alone, then the whole fabric; leave the results in termination messages
#   rank RAIL …   run a program with one GPU and the RDMA device of one rail
#
# Beside this file: `settings`, NCCL's variables; `rails`, a line each: number, interface in the pod, RDMA device (or -),
# GPU. Variables of the container: NODES, GPUS (a node), PORT of ssh's server, PROGRAM, RAIL_BAR (GB/s), LIMIT (seconds),
# NODE_NAME; HOSTS_FILE, or for a plain Job JOB and SERVICE.
#
# Results: a tar.gz in Base64, cut into messages of less than the 4096 bytes that a kubelet keeps: the first one in the
# launcher's pod, the others in those of the workers, until there are enough.
set -u

here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-/tmp/verification}
keys=${KEYS:-/verification-keys}
sys=${SYS:-/sys}
termination_log=${TERMINATION_LOG:-/dev/termination-log}

answers_within=${ANSWERS_WITHIN:-$((${LIMIT:-0} / 2))}
a_step_takes=${A_STEP_TAKES:-300}
kept_back=30
status_takes=${STATUS_TAKES:-5}
most_pairs=16
part_size=3900

say() {
    printf 'gpu-fabric: %s\n' "$*"
}

# --- worker ---

serve() {
    mkdir -p "$out" /var/run/sshd 2>/dev/null
    printf '%s\n' "${NODE_NAME:-}" >"$out/node"
    # Keys are brought by the stack, or by Volcano and the MPI operator where ssh looks for them by itself. The image's own
    # settings stay otherwise: whether its PAM works in a container, and its root may log in without, only it knows.
    if [ -e "$keys/key" ]; then
        "${SSHD:-/usr/sbin/sshd}" -D -e -p "$PORT" -h "$keys/key" \
            -o "AuthorizedKeysFile=$keys/key.pub" -o StrictModes=no -o PidFile=none \
            -o PermitRootLogin=prohibit-password -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no &
    else
        "${SSHD:-/usr/sbin/sshd}" -D -e -p "$PORT" &
    fi
    server=$!
}

worker() {
    serve
    until [ -e "$out/over" ]; do
        kill -0 "$server" 2>/dev/null || fail "ssh's server ended on node ${NODE_NAME:-}"
        [ "$SECONDS" -lt "$LIMIT" ] || fail "no launcher ended the run within $LIMIT s on node ${NODE_NAME:-}"
        sleep 1
    done
    kill "$server"
}

# --- one rank of a rail's test ---

rank() {
    local rail=$1 number interface device gpu
    shift
    while read -r number interface device gpu; do
        [ "$number" != "$rail" ] || break
    done <"$here/rails"
    [ "$device" != - ] || device=$(device_behind "$interface")
    if [ -z "$device" ]; then
        say "rail $rail: no RDMA device behind $interface on node $(cat "$out/node")" >&2
        exit 1
    fi
    # Without PXN and NVLink between nodes nothing but this device carries data.
    export NCCL_IB_HCA="=$device" NCCL_PXN_DISABLE=1 NCCL_MNNVL_ENABLE=0
    export CUDA_VISIBLE_DEVICES=$gpu HIP_VISIBLE_DEVICES=$gpu
    exec "$@"
}

# The RDMA device of an interface: its own, or the one in whose table of addresses it stands.
device_behind() {
    local found
    for found in "$sys/class/net/$1/device/infiniband"/*; do
        [ -e "$found" ] && basename "$found" && return
    done
    for found in "$sys"/class/infiniband/*/ports/*/gid_attrs/ndevs/*; do
        if [ "$(cat "$found" 2>/dev/null)" = "$1" ]; then
            found=${found#"$sys/class/infiniband/"}
            printf '%s\n' "${found%%/*}"
            return
        fi
    done
}

# --- launcher ---

launch() {
    mkdir -p "$out/bundle"
    if [ -n "${HOSTS_FILE:-}" ]; then
        mapfile -t hosts < <(awk 'NF { sub(/:.*/, "", $1); print $1 }' "$HOSTS_FILE")
    else
        mapfile -t hosts < <(for ((n = 0; n < NODES; n++)); do printf '%s-%s.%s\n' "$JOB" "$n" "$SERVICE"; done)
    fi
    [ "${#hosts[@]}" = "$NODES" ] || fail "there are ${#hosts[@]} hosts, and $NODES nodes were asked for"
    ssh_options=(-p "$PORT" -o ConnectTimeout=5 -o ConnectionAttempts=3 -o BatchMode=yes)
    if [ -e "$keys/key" ]; then
        printf '* %s\n' "$(cut -d ' ' -f 1,2 "$keys/key.pub")" >"$out/known_hosts"
        ssh_options+=(-i "$keys/key" -o "UserKnownHostsFile=$out/known_hosts" -o StrictHostKeyChecking=yes)
    fi
    # Open MPI 4 and 5 read the options of ssh from different variables.
    export OMPI_MCA_plm_rsh_args="${ssh_options[*]}" PRTE_MCA_plm_ssh_args="${ssh_options[*]}"
    await_hosts
    mapfile -t variables < <(sed -n '/./{s/^/-x\n/;p}' "$here/settings")
    cp "$here/rails" "$out/bundle/rails"
    each_rail
    say "the whole fabric: $NODES nodes with $GPUS GPUs each"
    measure all "$GPUS" "$LIMIT" "${hosts[*]}" "$PROGRAM" -b 1G -e 8G
    hand_over
    end_workers
}

on() {
    local host=$1
    shift
    # Whatever runs there must not read this script's own input.
    ssh "${ssh_options[@]}" "$host" "$@" </dev/null
}

await_hosts() {
    local host
    for host in "${hosts[@]}"; do
        until on "$host" test -e "$out/node" 2>/dev/null; do
            [ "$SECONDS" -lt "$answers_within" ] || fail "$host does not answer within $answers_within s"
            sleep 2
        done
        printf '%s %s\n' "$(on "$host" hostname)" "$(on "$host" cat "$out/node")" >>"$out/bundle/nodes"
    done
}

each_rail() {
    local rail pairs=0 first second
    # The file is read before, since the programs below would read on in it.
    for rail in $(cut -d ' ' -f 1 "$here/rails"); do
        say "rail $rail: one GPU a node"
        rail_alone "rail-$rail" "$rail" "$a_step_takes" "${hosts[*]}"
        is_slow "rail-$rail" && [ "$NODES" -gt 2 ] || continue
        for ((first = 0; first < NODES && pairs < most_pairs; first++, pairs++)); do
            second=$(((first + 1) % NODES))
            say "rail $rail is slow: nodes $first and $second"
            rail_alone "pair-$rail-$first-$second" "$rail" "$(((a_step_takes + 4) / 5))" \
                "${hosts[first]} ${hosts[second]}"
        done
    done
}

rail_alone() {
    measure "$1" 1 "$3" "$4" bash "$here/verification.sh" rank "$2" "$PROGRAM" -b 1G -e 1G
}

# Run a test on some hosts: its name, ranks a node, seconds, hosts, the command with the sizes.
measure() {
    local name=$1 each=$2 seconds=$3 chosen=$4 file=$out/$1.json status host
    shift 4
    # What is there must leave the pod before Kubernetes ends it.
    [ "$seconds" -le "$((LIMIT - SECONDS - kept_back))" ] || seconds=$((LIMIT - SECONDS - kept_back))
    if [ "$seconds" -le 0 ]; then
        say "$name: no time is left for it" | tee "$out/bundle/$name.log"
        return
    fi
    : >"$out/hosts"
    for host in $chosen; do
        printf '%s slots=%s\n' "$host" "$each" >>"$out/hosts"
    done
    # nccl-tests writes beside a file that is there already, and the first host's process writes.
    host=${chosen%% *}
    on "$host" "mkdir -p $out && rm -f $file"
    # mpirun's own collectives run over the front end, and not by way of a library that looks for NICs itself.
    timeout -k 10 "$seconds" mpirun --allow-run-as-root -mca coll '^hcoll' -mca coll_hcoll_enable 0 \
        -np "$(($(wc -l <"$out/hosts") * each))" --map-by "ppr:$each:node" --bind-to numa -hostfile "$out/hosts" \
        "${variables[@]}" "$@" -f 2 -g 1 -c 1 -J "$file" </dev/null 2>&1 | tee "$out/log"
    status=${PIPESTATUS[0]}
    proof <"$out/log" >"$out/bundle/$name.log"
    case $status in
        0) ;;
        124 | 137) say "$name did not end within $seconds s" | tee -a "$out/bundle/$name.log" ;;
        *) say "$name ended with status $status" | tee -a "$out/bundle/$name.log" ;;
    esac
    if on "$host" cat "$file" >"$out/$name.fetched" 2>/dev/null && [ -s "$out/$name.fetched" ]; then
        without_environment "$out/$name.fetched" >"$out/bundle/$name.json"
    else
        say "$name: the test wrote no result; nccl-tests 2.17.3 or later does" | tee -a "$out/bundle/$name.log"
    fi
}

# Whether a rail shows less than its bar; the verdict looks closer.
is_slow() {
    local lowest
    lowest=$(grep -o '"bus_bw":[0-9.]*' "$out/bundle/$1.json" 2>/dev/null | cut -d : -f 2 | sort -g | head -n 1)
    awk -v seen="${lowest:-0}" -v bar="$RAIL_BAR" 'BEGIN { exit !(seen + 0 < bar + 0) }'
}

# A result without the environment of the process, of which only NCCL's own variables are of interest.
without_environment() {
    local whole environment kept
    # Byte by byte: in a language of many bytes a letter, this takes minutes for thousands of ranks.
    local LC_ALL=C
    whole=$(cat "$1")
    environment=$(grep -oE '"env":\[("([^"\\]|\\.)*",?)*\]' "$1")
    if [ -z "$environment" ]; then
        # Not written to its end, or in a form that is not known: nothing of it leaves the pod.
        printf '%s\n' "${whole%%\"env\"*}"
        return
    fi
    kept=$(printf '%s' "${environment#\"env\":}" | grep -oE '"([^"\\]|\\.)*"' | grep -E '^"(NCCL|RCCL)_' | paste -sd , -)
    printf '%s"env":[%s]%s\n' "${whole%%"$environment"*}" "$kept" "${whole#*"$environment"}"
}

# Of NCCL's log what proves the transport or speaks against it, each once a node and NIC; and our own words.
proof() {
    awk '
        /^gpu-fabric: / { if (own++ < 20) print; next }
        !match($0, /[A-Za-z0-9._-]+:[0-9]+(:[0-9]+)? \[-?[0-9]+\] ([^ ]+:[0-9]+ )?NCCL (INFO|WARN) /) { next }
        {
            start = substr($0, RSTART, RLENGTH); text = substr($0, RSTART + RLENGTH)
            host = start; sub(/:.*/, "", host)
        }
        match(text, /via NET\/.*/) {
            via = substr(text, RSTART)
            good = via ~ /^via NET\/IB.*GDRDMA/
            nic = via; sub(/[(].*|\/GDRDMA.*/, "", nic)
            if (!seen[host, good ? nic : via]++ && (good || bad++ < 200)) print
            next
        }
        text ~ /^(NET\/IB[^:]*: ?Using|Using network|NET\/Socket)/ ||
            (start ~ /WARN/ && (text ~ /NET\/IB/ || start ~ /net_ib|ibvwrap|mlx5dvwrap/)) {
            if (!seen[host, text]++ && bad++ < 5000) print
        }
    '
}

hand_over() {
    local text sum total place=1 host
    text=$(tar -C "$out/bundle" -cf - . | gzip -9 | base64 -w 0)
    sum=$(printf '%s' "$text" | sha256sum | cut -c 1-16)
    total=$(((${#text} + part_size - 1) / part_size))
    others=("${hosts[@]}")
    [ -n "${HOSTS_FILE:-}" ] || others=("${hosts[@]:1}")
    [ "$total" -le "$((1 + ${#others[@]}))" ] ||
        fail "the results take $total messages of $part_size bytes, and there are $((1 + ${#others[@]})) pods"
    for host in "${others[@]:0:total-1}"; do
        place=$((place + 1))
        part "$place" | ssh "${ssh_options[@]}" "$host" "cat >$termination_log" ||
            fail "a part of the results could not be left on $host"
    done
    part 1 >"$termination_log"
}

part() {
    printf 'gpu-fabric %s/%s %s\n%s' "$1" "$total" "$sum" "${text:($1 - 1) * part_size:part_size}"
}

end_workers() {
    local host
    for host in "${hosts[@]}"; do
        on "$host" touch "$out/over" 2>/dev/null
    done
    [ -n "${HOSTS_FILE:-}" ] || return 0
    # Volcano deletes workers that still run when the launcher ends, and their parts of the results with them.
    for host in "${hosts[@]}"; do
        while on "$host" true 2>/dev/null && [ "$SECONDS" -lt "$LIMIT" ]; do
            sleep 1
        done
    done
    sleep "$status_takes"
}

fail() {
    say "$*" >&2
    printf 'gpu-fabric error: %s\n' "$*" >"$termination_log"
    [ -z "${hosts+known}" ] || end_workers
    exit 1
}

case $1 in
    both)
        if [ "$JOB_COMPLETION_INDEX" != 0 ]; then
            worker
        else
            serve
            launch
            kill "$server"
        fi
        ;;
    worker) worker ;;
    launch) launch ;;
    rank) shift && rank "$@" ;;
esac
