#!/bin/bash
# The part of the verification's script that measures by UCX, point to point. Stacks that ask for it have it in
# verification.sh, between the functions and the line that starts one of them. Its own modes:
#
#   ucx PORT [HOST]   run UCX's program, started by `rank`: it answers one client, or is the client of HOST
#   neighbours N R    the pairs of N nodes that are measured in round R
#
# Another file in the script's folder: `point-to-point`, with the program, its options, and UCX's variables, a line
# each.
#
# Results: a file of lines `RAIL FROM TO DEVICE HEADING ROW`, the numbers of the rail and of two nodes, the device of
# the first node, and both lines of the program's CSV; or `RAIL FROM TO DEVICE failed WORDS`. Options and texts by UCX
# 1.22.0, src/tools/perf/perftest.c, perftest_params.c and perftest_run.c; they are the same since 1.12.0.
# shellcheck disable=SC2154  # variables of verification.sh

# UCX's own default; further rails and rounds have the next ones.
first_port=13337
# Seconds in which the other side listens.
listens_within=20

# What ssh starts does not have the paths of the image.
paths=$out/paths
case ${1-} in
    both | worker)
        mkdir -p "$out"
        declare -px PATH LD_LIBRARY_PATH >"$paths" 2>/dev/null
        ;;
esac

# --- one side of a test ---

one_side() {
    local port=$1 peer=${2-} program setting found
    local -a options
    # shellcheck source=/dev/null
    [ ! -e "$paths" ] || . "$paths"
    {
        IFS= read -r program
        read -ra options
        while IFS= read -r setting; do export "${setting?}"; done
    } <"$here/point-to-point"
    # Nothing but this device carries data.
    export UCX_NET_DEVICES="${NCCL_IB_HCA#=}:1"
    say "device ${NCCL_IB_HCA#=}"
    if ! command -v "$program" >/dev/null; then
        say "the image has no program $program"
        exit 1
    fi
    [ -n "$peer" ] || exec "$program" "${options[@]}" -p "$port"
    until found=$("$program" "${options[@]}" -p "$port" "$peer" 2>&1); do
        if [[ $found != *"connect() failed"* ]] || [ "$SECONDS" -ge "$listens_within" ]; then
            printf '%s\n' "$found"
            exit 1
        fi
        sleep 0.2
    done
    printf '%s\n' "$found"
}

# --- launcher ---

# Lines `FIRST SECOND`: each node with the next one; in a second round the last one of an odd number with the first.
neighbours() {
    local nodes=$1 first
    if [ "$2" = 0 ]; then
        for ((first = 0; first + 1 < nodes; first += 2)); do
            echo "$first $((first + 1))"
        done
    else
        echo "$((nodes - 1)) 0"
    fi
}

# All rails of two nodes at the same time, one way and then the other. Two programs take turns on a GPU.
between_neighbours() {
    local round turn rails rail first second
    say "between neighbouring nodes, by UCX: all rails"
    for ((round = 0; round <= NODES % 2; round++)); do
        turn=0
        while rails=$(awk -v turn="$turn" 'NF > 3 && seen[$4]++ == turn { print $1 }' "$here/rails"); [ -n "$rails" ]; do
            while read -r first second; do
                for rail in $rails; do
                    begin both_ways "$rail" "$first" "$second" "$((first_port + 64 * round + rail))"
                done
            done < <(neighbours "$NODES" "$round")
            await_started
            turn=$((turn + 1))
        done
    done
}

both_ways() {
    one_way "$1" "$2" "$3" "$4"
    one_way "$1" "$3" "$2" "$4"
}

# The first node writes into the memory of the second one.
one_way() {
    local rail=$1 from=$2 to=$3 port=$4 name=$out/ucx-$1-$2-$3 script=$here/verification.sh
    local answers status device heading row
    local -a side=(timeout -k 5 "$a_pair_takes" bash "$script" rank "$rail" bash "$script" ucx "$port")
    if ! has_time_for "$a_pair_takes"; then
        printf '%s %s %s - failed no time is left for it\n' "$rail" "$from" "$to" >>"$out/bundle/point-to-point"
        return
    fi
    ssh "${ssh_options[@]}" "${hosts[to]}" "${side[@]}" </dev/null >"$name.to" 2>&1 &
    answers=$!
    on "${hosts[from]}" "${side[@]}" "${hosts[to]}" >"$name.from" 2>&1
    status=$?
    # It ends with its client, and is of no use without one.
    kill "$answers" 2>/dev/null
    wait "$answers"
    # With an option that it does not know the program prints all of its options.
    head -q -n 20 "$name.from" "$name.to" | sed "s/^/rail $rail, $from to $to: /"
    device=$(sed -n 's/^gpu-fabric: device //p' "$name.from" | head -n 1)
    heading=$(grep -m 1 '^iterations,' "$name.from")
    row=$(grep -E '^ *[0-9]+(,[0-9.]+)+$' "$name.from" | tail -n 1 | tr -d ' ')
    if [ "$status" -ne 0 ] || [ -z "$heading" ] || [ -z "$row" ]; then
        heading=failed row=$(reason "$status" "$name.from" "$name.to")
    fi
    printf '%s %s %s %s %s %s\n' "$rail" "$from" "$to" "${device:--}" "$heading" "$row" >>"$out/bundle/point-to-point"
}

# Why a test has no result, by its status and what both sides printed: own words, then UCX's errors, of which those that
# only follow from the other side's come last.
reason() {
    local status=$1 words
    shift
    words=$(
        {
            sed -n 's/^gpu-fabric: //p' "$@" | grep -v '^device '
            sed -n 's/^.* UCX  *ERROR  *//p' "$@" |
                grep -v 'remote closed connection\|remote peer failure\|connect() failed'
            sed -n 's/^.* UCX  *ERROR  *//p' "$@"
            grep -h . "$@" | grep -v '^gpu-fabric: ' | tail -n 1
        } | head -n 1 | cut -c -160
    )
    [ "$status" != 124 ] && [ "$status" != 137 ] || words="no end within $a_pair_takes s${words:+; $words}"
    printf '%s\n' "${words:-it ended with status $status}"
}

# What the launcher measures, and this before it.
eval "$(declare -f measure_everything | sed '1s/measure_everything/measure_collectives/')"
measure_everything() {
    between_neighbours
    measure_collectives
}

case ${1-} in
    ucx)
        shift
        one_side "$@"
        exit
        ;;
    neighbours)
        shift
        neighbours "$@"
        exit
        ;;
esac
