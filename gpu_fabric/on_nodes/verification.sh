#!/bin/bash
# The fabric's verification, in each pod of its job. The first argument says what this one does:
#   both          a worker that also launches, in the pod of index 0 of a plain Job (other indexes: worker)
#   worker        ssh's server, until the launcher says that all is over
#   scheduled     in each pod of a scheduled run: meet those on other idle nodes; the first one launches, writes the
#                 history, and ends the run
#   launch        measure all rails at the same time, then the whole fabric, then look for the cause on slow rails;
#                 leave the results in termination messages
#   rank RAIL …   run a program with one GPU and the RDMA device of one rail
#   pairs N R     the pairs of N nodes that meet in round R, by the outcomes so far on the standard input
#   proof         of NCCL's log on the standard input what leaves the pod
#
# Beside this file: `settings`, NCCL's variables; `log-lines`, which lines of NCCL's log are kept; `rails`, a line each:
# number, interface in the pod, RDMA device (or -), GPU. Variables of the container: NODES, GPUS (a node), PORT of ssh's server, PROGRAM, RAIL_BAR (GB/s), LIMIT (seconds),
# NODE_NAME; HOSTS_FILE, or for a plain Job JOB and SERVICE. Of a scheduled run also BAR (GB/s), NAMESPACE, and the names of
# the ConfigMaps HISTORY and PRESENT; the folder /verification-history has the history before the run.
#
# Results: a tar.gz in Base64, cut into messages of less than the 4096 bytes that a kubelet keeps: the first one in the
# launcher's pod, the others in those of the workers, until there are enough.
set -u

started=()
indexes=
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-/tmp/verification}
keys=${KEYS:-/verification-keys}
authorized=$keys/key.pub
account=${ACCOUNT:-/var/run/secrets/kubernetes.io/serviceaccount}
history=${HISTORY_FOLDER:-/verification-history}
sys=${SYS:-/sys}
termination_log=${TERMINATION_LOG:-/dev/termination-log}

answers_within=${ANSWERS_WITHIN:-$((${LIMIT:-0} / 2))}
a_step_takes=${A_STEP_TAKES:-300}
a_pair_takes=$(((a_step_takes + 4) / 5))
kept_back=30
status_takes=${STATUS_TAKES:-5}
gathering_takes=${GATHERING_TAKES:-60}
asks_every=${ASKS_EVERY:-5}
# Entries and bytes of the history, and bytes of the newest results in Base64; a ConfigMap holds 1 MiB.
most_history=200
most_history_bytes=200000
most_latest_bytes=600000
# Rounds of pairs in a run, of all its slow rails; tests that one launcher starts at a time; failed pairs whose files
# leave the pod.
most_rounds=16
most_at_once=32
most_evidence=64
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
    # Each rail's launcher connects to all nodes at once; by default a server drops the tenth and more at random.
    if [ -e "$keys/key" ]; then
        "${SSHD:-/usr/sbin/sshd}" -D -e -p "$PORT" -o MaxStartups=1000 -h "$keys/key" \
            -o "AuthorizedKeysFile=$authorized" -o StrictModes=no -o PidFile=none \
            -o PermitRootLogin=prohibit-password -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no &
    else
        "${SSHD:-/usr/sbin/sshd}" -D -e -p "$PORT" -o MaxStartups=1000 &
    fi
    server=$!
}

worker() {
    serve
    await_end
}

await_end() {
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
    reach_hosts
    measure_everything
    hand_over
    end_workers
}

reach_hosts() {
    mkdir -p "$out/bundle"
    if [ -n "${HOSTS_FILE:-}" ]; then
        mapfile -t hosts < <(awk 'NF { sub(/:.*/, "", $1); print $1 }' "$HOSTS_FILE")
    else
        mapfile -t hosts < <(printf "$JOB-%s.$SERVICE\n" ${indexes:-$(seq 0 "$((NODES - 1))")})
    fi
    [ "${#hosts[@]}" = "$NODES" ] || fail "there are ${#hosts[@]} hosts, and $NODES nodes were asked for"
    ssh_options=(-p "$PORT" -o ConnectTimeout=5 -o ConnectionAttempts=3 -o BatchMode=yes)
    if [ -e "$keys/key" ]; then
        cut -d ' ' -f 1,2 "$authorized" | sed 's/^/* /' >"$out/known_hosts"
        ssh_options+=(-i "$keys/key" -o "UserKnownHostsFile=$out/known_hosts" -o StrictHostKeyChecking=yes)
    fi
    # Open MPI 4 and 5 read the options of ssh from different variables.
    export OMPI_MCA_plm_rsh_args="${ssh_options[*]}" PRTE_MCA_plm_ssh_args="${ssh_options[*]}"
    await_hosts
    mapfile -t variables < <(sed -n '/./{s/^/-x\n/;p}' "$here/settings")
    cp "$here/rails" "$out/bundle/rails"
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

measure_everything() {
    rails_together
    say "the whole fabric: $NODES nodes with $GPUS GPUs each"
    measure all "$GPUS" "$LIMIT" "${hosts[*]}" "$PROGRAM" -b 1G -e 8G
    # Last, so that the search takes no time from what is judged.
    each_slow_rail
}

# Every rail by itself, at the same time as the others. Two processes take turns on a GPU, so that rails with the same
# nearest GPU are measured one after another.
rails_together() {
    local turn=0 rails rail
    while rails=$(awk -v turn="$turn" 'NF > 3 && seen[$4]++ == turn { print $1 }' "$here/rails") && [ -n "$rails" ]; do
        say "at the same time, one GPU a node: rails" $rails
        for rail in $rails; do
            begin rail_alone "rail-$rail" "$rail" "$a_step_takes" "${hosts[*]}"
        done
        await_started
        turn=$((turn + 1))
    done
}

# A rail that is slow among the others: alone, and where it is slow then too, by pairs of nodes.
each_slow_rail() {
    local rail rounds=0 evidence=0
    for rail in $(awk 'NF > 3 { print $1 }' "$here/rails"); do
        is_bad "rail-$rail" && has_time_for "$a_pair_takes" || continue
        say "rail $rail is slow: alone"
        rail_alone "alone-$rail" "$rail" "$a_step_takes" "${hosts[*]}"
        if is_bad "alone-$rail" && [ "$NODES" -gt 2 ]; then
            tournament "$rail"
        fi
    done
}

# Rounds of pairs of nodes, until it is known of each node and of each two neighbours whether they are slow.
tournament() {
    local rail=$1 met=$out/met-$1 round=0 pairs first second name outcome
    : >"$met"
    while [ "$rounds" -lt "$most_rounds" ] && has_time_for "$a_pair_takes"; do
        round=$((round + 1))
        pairs=$(next_pairs "$NODES" "$round" <"$met")
        [ -n "$pairs" ] || break
        rounds=$((rounds + 1))
        say "rail $rail, round $round: $(wc -l <<<"$pairs") pairs of nodes"
        while read -r first second; do
            begin rail_alone "pair-$rail-$first-$second" "$rail" "$a_pair_takes" "${hosts[first]} ${hosts[second]}"
        done <<<"$pairs"
        await_started
        while read -r first second; do
            name=pair-$rail-$first-$second outcome=good
            if is_bad "$name"; then
                outcome=bad
                # What was given less than its time says nothing of the nodes.
                [ ! -e "$out/$name.short" ] || outcome=
            fi
            if [ "$outcome" != bad ] || [ "$evidence" -ge "$most_evidence" ]; then
                rm -f "$out/bundle/$name.json" "$out/bundle/$name.log"
            else
                evidence=$((evidence + 1))
            fi
            [ -n "$outcome" ] || continue
            printf '%s %s %s\n' "$first" "$second" "$outcome" >>"$met"
            printf '%s %s %s %s\n' "$rail" "$first" "$second" "$outcome" >>"$out/bundle/pairs"
        done <<<"$pairs"
    done
}

# The pairs of a round: lines `FIRST SECOND`, of nodes' numbers, each node once. A node that was in a good pair is
# proven. The others meet proven ones; one that was slow with two others, of which one is proven, is known to be bad.
# Where no proven one is free they meet each other. Proven neighbours that have not met yet meet too, since the path
# between two good nodes can be the slow one.
next_pairs() {
    awk -v nodes="$1" -v round="$2" '
        function take(a, b) { busy[a] = busy[b] = 1; print a, b }
        function is_free(a, b) { return a != b && !busy[b] && !met[a, b] }
        { met[$1, $2] = met[$2, $1] = 1 }
        $3 == "good" { proven[$1] = proven[$2] = any = 1; next }
        { slow_with[$1] = slow_with[$1] " " $2; slow_with[$2] = slow_with[$2] " " $1 }
        END {
            # Where no pair at all is good, it is not a few nodes that are slow.
            if (round > 3 && !any) exit
            for (a = 0; a < nodes; a++) {
                if (proven[a]) continue
                count = split(slow_with[a], others, " ")
                for (i = 1; i <= count; i++) if (count > 1 && proven[others[i]]) bad[a] = 1
            }
            for (a = 0; a < nodes; a++) {
                if (proven[a] || bad[a]) continue
                for (step = 1; step < nodes && !busy[a]; step++) {
                    b = (a + step) % nodes
                    if (proven[b] && is_free(a, b)) take(a, b)
                }
            }
            for (a = 0; a < nodes; a++) {
                if (proven[a] || bad[a]) continue
                for (step = 1; step < nodes && !busy[a]; step++) {
                    b = (a + step) % nodes
                    if (!proven[b] && !bad[b] && is_free(a, b)) take(a, b)
                }
            }
            for (a = 0; a < nodes; a++) {
                b = (a + 1) % nodes
                if (proven[a] && proven[b] && !busy[a] && is_free(a, b)) take(a, b)
            }
        }
    '
}

# Start something beside the script, and wait where too much runs already.
begin() {
    "$@" &
    started+=($!)
    [ "${#started[@]}" -lt "$most_at_once" ] || await_started
}

# Wait for what was started, and not for ssh's server.
await_started() {
    [ "${#started[@]}" = 0 ] || wait "${started[@]}"
    started=()
}

has_time_for() {
    [ "$1" -le "$((LIMIT - SECONDS - kept_back))" ]
}

rail_alone() {
    measure "$1" 1 "$3" "$4" bash "$here/verification.sh" rank "$2" "$PROGRAM" -b 1G -e 1G
}

# Run a test on some hosts: its name, ranks a node, seconds, hosts, the command with the sizes.
measure() {
    local name=$1 each=$2 seconds=$3 chosen=$4 file=$out/$1.json bound=numa status host
    shift 4
    # One rank would have the first part of the node, whatever its GPU; NCCL then chooses those near the GPU itself.
    [ "$each" -gt 1 ] || bound=none
    # What is there must leave the pod before Kubernetes ends it.
    if ! has_time_for "$seconds"; then
        seconds=$((LIMIT - SECONDS - kept_back))
        : >"$out/$name.short"
    fi
    if [ "$seconds" -le 0 ]; then
        say "$name: no time is left for it" | tee "$out/bundle/$name.log"
        return
    fi
    for host in $chosen; do
        printf '%s slots=%s\n' "$host" "$each"
    done >"$out/$name.hosts"
    # nccl-tests writes beside a file that is there already, and the first host's process writes.
    host=${chosen%% *}
    on "$host" "mkdir -p $out && rm -f $file"
    # mpirun's own collectives run over the front end, and not by way of a library that looks for NICs itself.
    timeout -k 10 "$seconds" mpirun --allow-run-as-root -mca coll '^hcoll' -mca coll_hcoll_enable 0 \
        -np "$(($(wc -l <"$out/$name.hosts") * each))" --map-by "ppr:$each:node" --bind-to "$bound" \
        -hostfile "$out/$name.hosts" "${variables[@]}" "$@" -f 2 -g 1 -c 1 -J "$file" </dev/null 2>&1 |
        tee "$out/$name.printed" | sed "s/^/$name: /"
    status=${PIPESTATUS[0]}
    proof <"$out/$name.printed" >"$out/bundle/$name.log"
    rm "$out/$name.printed"
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

# Whether a rail shows less than its bar, or wrong values; the verdict looks closer.
is_bad() {
    has_wrong_values "$1" || is_below "$(last_bandwidth "$1")" "$RAIL_BAR"
}

has_wrong_values() {
    grep -Eqs '"nwrong":0*[1-9]' "$out/bundle/$1.json"
}

# GB/s of the largest size, the last one: the lower of its two values.
last_bandwidth() {
    grep -os '"bus_bw":[0-9.]*' "$out/bundle/$1.json" | cut -d : -f 2 | tail -n 2 | sort -g | head -n 1
}

is_below() {
    awk -v seen="${1:-0}" -v bar="$2" 'BEGIN { exit !(seen + 0 < bar + 0) }'
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

# Of NCCL's log what proves the transport or speaks against it, each once a node and NIC; and our own words. Which lines
# these are is in the table beside this script, by which the verdict judges them.
proof() {
    awk -v table="$here/log-lines" '
        BEGIN {
            while ((getline row < table) > 0) {
                use = row; sub(/\t.*/, "", use); sub(/^[^\t]*\t/, "", row)
                kept[use] = (kept[use] == "" ? "" : kept[use] "|") "(" row ")"
            }
        }
        { gsub(/\033\[[0-9;]*m/, "") }
        /^gpu-fabric: / { if (own++ < 20) print; next }
        !match($0, /NCCL (INFO|WARN) /) {
            if ($0 ~ kept["other"] && !seen[$0]++ && bad++ < 5000) print
            next
        }
        {
            level = substr($0, RSTART + 5, 4)
            before = substr($0, 1, RSTART - 1); text = substr($0, RSTART + RLENGTH)
            if (!match(before, /[A-Za-z0-9._-]+:[0-9]+(:[0-9]+)? \[-?[0-9]+\]/)) next
            host = substr(before, RSTART, RLENGTH); place = substr(before, RSTART + RLENGTH)
            sub(/:.*/, "", host)
        }
        match(text, /via NET\/.*/) {
            via = substr(text, RSTART)
            good = via ~ /^via NET\/IB.*GDRDMA/
            nic = via; sub(/[(].*|\/GDRDMA.*/, "", nic)
            if (!seen[host, good, good ? nic : via]++ && (good || staged++ < 200)) print
            next
        }
        level == "INFO" && text ~ kept["once"] { if (!seen[text]++ && bad++ < 5000) print; next }
        level == "INFO" ? text ~ kept["info"] : (place ~ kept["place"] || text ~ kept["warn"]) {
            if (!seen[host, text]++ && bad++ < 5000) print
        }
    '
}

# --- scheduled run ---

# Pods of a run that no program waits for: they run where nodes are idle, so it is not known before how many there are and
# which. Each writes its public keys into a ConfigMap. Who was first there decides after a while who takes part, and
# launches.
scheduled() {
    local first began
    keys=$out/keys authorized=$out/authorized
    mkdir -p "$keys"
    ssh-keygen -q -t ed25519 -N '' -C '' -f "$keys/key" || fail "ssh-keygen makes no key"
    : >"$authorized"
    serve
    change "$PRESENT" "{\"data\":{\"$JOB.$JOB_COMPLETION_INDEX\":\"$(date +%s) $NODE_NAME $(cut -d ' ' -f 1,2 "$keys/key.pub")\"}}"
    began=$SECONDS
    while present && [ -z "$indexes" ]; do
        first=$(sort -k 2,2n -k 1,1n "$out/present" | head -n 1 | cut -d ' ' -f 1)
        if [ "$first" = "$JOB_COMPLETION_INDEX" ] && [ "$((SECONDS - began))" -ge "$gathering_takes" ]; then
            lead
            return
        fi
        [ "$SECONDS" -lt "$LIMIT" ] || fail "no pod began the run within $LIMIT s on node $NODE_NAME"
        sleep "$asks_every"
    done
    case " $indexes " in
        *" $JOB_COMPLETION_INDEX "*)
            trust
            await_end
            ;;
        *)
            # A pod that ends would end the run of the others.
            say "the run began before this pod; node $NODE_NAME is left for the next one"
            sleep "$LIMIT"
            ;;
    esac
}

lead() {
    local lost
    indexes=$(cut -d ' ' -f 1 "$out/present" | sort -n | paste -sd ' ' -)
    NODES=$(wc -w <<<"$indexes")
    if [ "$NODES" -lt 2 ]; then
        say "no other node is idle; data cross the fabric between two or more"
        return
    fi
    # What runs that were preempted have left goes.
    lost=$(grep -oE '"[a-z0-9.-]+\.(start|[0-9]+)":"' "$out/answer" | grep -vF "\"$JOB." | sed 's/"$/null,/' | sort -u)
    change "$PRESENT" "{\"data\":{$lost\"$JOB.start\":\"$indexes\"}}"
    trust
    reach_hosts
    measure_everything
    record
}

# Those of this run that are there: index, time, node and public key; and in `indexes` those that take part, once known.
present() {
    ask GET "$PRESENT" >"$out/answer" || fail "the API server does not show ConfigMap $PRESENT"
    grep -oE "\"$JOB\.[0-9]+\":\"[^\"]*\"" "$out/answer" | sed 's/^.*\.\([0-9]*\)":"\(.*\)"$/\1 \2/' >"$out/present"
    indexes=$(grep -oE "\"$JOB\.start\":\"[0-9 ]*\"" "$out/answer" | cut -d '"' -f 4)
}

trust() {
    cut -d ' ' -f 4,5 "$out/present" >"$authorized"
}

# A request about a ConfigMap: method, name, and curl's options. The token is in no argument, which others could see.
ask() {
    local method=$1 name=$2
    shift 2
    curl -sS --fail --max-time 30 --retry 5 --retry-connrefused --cacert "$account/ca.crt" -X "$method" "$@" \
        -K <(printf 'header = "Authorization: Bearer %s"\n' "$(cat "$account/token")") \
        "https://${API_HOST:-kubernetes.default.svc}/api/v1/namespaces/$NAMESPACE/configmaps/$name"
}

change() {
    printf '%s' "$2" >"$out/change"
    ask PATCH "$1" -H 'Content-Type: application/merge-patch+json' --data-binary "@$out/change" >/dev/null ||
        fail "the API server does not take a change of ConfigMap $1"
}

# One line of the history: what was measured on which nodes, and whether it reached the bars. The newest is the first.
record() {
    local passed=true rail value bad='' rails='' nodes all lines latest
    all=$(last_bandwidth all)
    is_below "$all" "$BAR" && passed=false
    ! has_wrong_values all || passed=false
    for rail in $(awk 'NF > 3 { print $1 }' "$here/rails"); do
        value=$(last_bandwidth "rail-$rail")
        rails=$rails,\"$rail\":${value:-null}
        ! is_bad "rail-$rail" || passed=false bad=$bad,$rail
    done
    nodes=$(awk '{ printf ",\"%s\"", $NF }' "$out/bundle/nodes")
    lines=$(
        printf '{"time":"%s","job":"%s","passed":%s,"measured":%s,"rails":{%s},"slowRails":[%s],"nodes":[%s]}\n' \
            "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$JOB" "$passed" "${all:-null}" "${rails#,}" "${bad#,}" "${nodes#,}"
        cat "$history/history.jsonl" 2>/dev/null
    )
    latest=$(tar -C "$out/bundle" -cf - . | gzip -9 | base64 -w 0)
    [ "${#latest}" -le "$most_latest_bytes" ] || latest=
    change "$HISTORY" "{\"data\":{\"history.jsonl\":\"$(
        head -n "$most_history" <<<"$lines" |
            awk -v most="$most_history_bytes" '(sum += length) > most && NR > 1 { exit } { print }' |
            sed 's/[\\"]/\\&/g' | awk '{ printf "%s\\n", $0 }'
    )\"},\"binaryData\":{\"latest.tar.gz\":\"$latest\"}}"
    change "$PRESENT" '{"data":null}'
    # A failed pod ends the run as failed. Otherwise the workers end too, for clusters that do not end them by themselves.
    [ "$passed" = true ] || fail "the fabric is below its bar: see ConfigMap $HISTORY"
    end_workers
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
    # Of a scheduled run the failed pod ends the others, and a worker's good end would make it a good run.
    [ "$mode" = scheduled ] || [ -z "${hosts+known}" ] || end_workers
    exit 1
}

mode=$1
case $mode in
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
    scheduled) scheduled ;;
    launch) launch ;;
    rank) shift && rank "$@" ;;
    pairs) shift && next_pairs "$@" ;;
    proof) proof ;;
esac
