#!/bin/sh
# Measures the rails of the pod that it runs in with those of another pod, one after another, by perftest.
#
# From the environment it reads, beside what fabric_check.sh reads (which is in the same folder):
#
#   MODE        serve     answer every test until the pod is ended
#               measure   write to and read from the other pod over each rail
#   PEER        the other pod's host name, on the pods' own first network: addresses and keys are exchanged there
#   SECONDS_EACH  length of a test
#   START       seconds within which the other pod answers
#   TRAFFIC_CLASS  of the jobs' RDMA packets; may be empty
#   PORT        the first TCP port: two a rail
#
# `measure` leaves lines in TERMINATION_LOG: `columns HEADING` and `rail NUMBER write|read ROW` as perftest prints them,
# `failed NUMBER write|read WORDS` where a test came to nothing on the rail, or `cannot WORDS` where nothing was
# measured. Options by perftest's manual page (linux-rdma/perftest, man/perftest.1).
set -u
export LC_ALL=C

here=$(dirname "$0")
SYS=${SYS:-/sys}
PROC=${PROC:-/proc}
PORT=${PORT:-18515}
TERMINATION_LOG=${TERMINATION_LOG:-/dev/termination-log}
# What a test takes beside its own length: connections, registered memory.
more=15

cannot() {
    echo "cannot $*" | tee "$TERMINATION_LOG"
    exit 1
}

# RAIL INTERFACE ADDRESSES DEVICE/PORT of each rail, `-` for what it has not.
rails() {
    TERMINATION_LOG="" sh "$here/fabric_check.sh" once | awk '$1 ~ /^[0-9]+$/ && NF == 12 { print $1, $3, $7, $10 }'
}

# gid_index DEVICE PORT INTERFACE ADDRESSES: the place of a RoCE v2 GID of the interface's own addresses.
gid_index() {
    port=$SYS/class/infiniband/$1/ports/$2
    own=$(
        echo "$4" | tr ',' '\n' | awk -F '[./]' '
            !/:/ && NF > 3 { printf "00000000000000000000ffff%02x%02x%02x%02x ", $1, $2, $3, $4 }'
        # Address, index, prefix, scope (00 is global), flags, interface.
        awk -v name="$3" '$6 == name && $4 == "00" { printf "%s ", $1 }' "$PROC/net/if_inet6" 2>/dev/null
    )
    for file in "$port"/gid_attrs/types/*; do
        { read -r kind <"$file"; } 2>/dev/null || continue
        [ "$kind" = "RoCE v2" ] || continue
        gid=$(tr -d ':\n' <"$port/gids/${file##*/}" 2>/dev/null)
        case " $own" in *" $gid "*) echo "${file##*/}" && return ;; esac
    done
    return 1
}

# options RAIL INTERFACE ADDRESSES DEVICE/PORT TEST: perftest's, else status 1 and why not.
options() {
    [ "$4" != - ] || { echo "the pod has no RDMA device for the rail" && return 1; }
    device=${4%/*} number=$((PORT + 2 * $1))
    [ "$5" = write ] || number=$((number + 1))
    words="-d $device -i ${4#*/} -p $number -D $SECONDS_EACH -F --report_gbits"
    { read -r layer <"$SYS/class/infiniband/$device/ports/${4#*/}/link_layer"; } 2>/dev/null || layer=
    if [ "$layer" = Ethernet ]; then
        index=$(gid_index "$device" "${4#*/}" "$2" "$3") || { echo "no RoCE v2 GID has an address of $2" && return 1; }
        words="$words -x $index"
        [ -z "${TRAFFIC_CLASS:-}" ] || words="$words --tclass=$TRAFFIC_CLASS"
    fi
    echo "$words"
}

answer() {
    while :; do
        # shellcheck disable=SC2086 # words
        "ib_$1_bw" $2
        sleep 0.2
    done
}

serve() {
    while read -r rail interface addresses port; do
        for test in write read; do
            if words=$(options "$rail" "$interface" "$addresses" "$port" "$test"); then
                answer "$test" "$words" &
            else
                echo "rail $rail: $words"
            fi
        done
    done <<END
$all
END
    wait
}

# one RAIL TEST WORDS: a test, again until the other pod answers.
one() {
    while :; do
        # shellcheck disable=SC2086 # words
        found=$(timeout "$((SECONDS_EACH + more))" "ib_$2_bw" $3 "$PEER" 2>&1)
        status=$?
        echo "$found"
        case $found in
            # Nothing of the fabric was used: the two sides have not met (perftest, src/perftest_communication.c).
            *"Couldn't connect to"* | *"Name or service not known"* | *"name resolution"*)
                [ "$(date +%s)" -lt "$until" ] || cannot "$PEER does not answer over the pods' own first network"
                sleep 1
                ;;
            *) break ;;
        esac
    done
    heading=$(echo "$found" | awk '/BW average/ { $1 = $1; print; exit }')
    row=$(echo "$found" | awk '
        is_on && $1 ~ /^[0-9]+$/ && NF > 4 { $1 = $1; last = $0 }
        /BW average/ { is_on = 1 }
        END { print last }')
    if [ "$status" -eq 0 ] && [ -n "$row" ]; then
        grep -q ^columns "$results" || echo "columns $heading" >>"$results"
        echo "rail $1 $2 $row" >>"$results"
    else
        [ "$status" -ne 124 ] || found="no end within $((SECONDS_EACH + more)) s"
        echo "failed $1 $2 $(echo "$found" | grep . | tail -n 1 | cut -c -70)" >>"$results"
    fi
}

measure() {
    results=$(mktemp)
    until=$(($(date +%s) + START))
    while read -r rail interface addresses port; do
        for test in write read; do
            if words=$(options "$rail" "$interface" "$addresses" "$port" "$test"); then
                one "$rail" "$test" "$words" </dev/null
            else
                echo "failed $rail $test $words" >>"$results"
            fi
        done
    done <<END
$all
END
    tee "$TERMINATION_LOG" <"$results"
}

for program in ib_write_bw ib_read_bw awk timeout; do
    command -v "$program" >/dev/null || cannot "no program $program in the image of fabric.readiness.pair"
done
all=$(rails)
[ -n "$all" ] || cannot "the pod has no rails: $(sh "$here/fabric_check.sh" check 2>&1 | head -n 1)"
case ${MODE:-} in
    serve) serve ;;
    measure) measure ;;
    *) cannot "MODE is '${MODE:-}'; give serve or measure" ;;
esac
