#!/bin/sh
# Shows the rails of the pod it runs in, and checks each of them.
#
#   sh fabric_check.sh watch   show and check them, again and again; print only what changed
#   sh fabric_check.sh once    show and check them; exit status 1 if anything is wrong
#   sh fabric_check.sh check   print nothing but failures; exit status 1 if there are any
#
# Exit status 2 is a wrong environment or a missing program. It needs ip (iproute2's, or BusyBox's with rules), no
# privileges and no file system to write to. From the environment it reads:
#
#   NODE_NAME           the node, for messages
#   RAILS               a line a rail: RAIL INTERFACE NETWORK SUBNET GATEWAY DEVICE LINK MTU, with `-` for what there is
#                       not or is not checked. RAIL is the number, INTERFACE the name in the pod, SUBNET the range of
#                       its addresses, DEVICE `own` where the interface brings its RDMA device or `shared` where it
#                       uses that of the host's NIC, LINK `ether` or `infiniband`, MTU bytes
#   ROUTES              yes where each address has a rule to a table with routes by its interface, otherwise no
#   LOOK_AGAIN_SECONDS  `watch`: the pause between two looks
#   TERMINATION_LOG     the file in which `watch` and `once` leave the last failures; may be empty
#   SYS                 where sysfs is mounted

# shellcheck disable=SC2046,SC2086 # what stands without quotes is to be split into words
set -u -f
export LC_ALL=C

NODE_NAME=${NODE_NAME:-}
RAILS=${RAILS:-}
ROUTES=${ROUTES:-}
LOOK_AGAIN_SECONDS=${LOOK_AGAIN_SECONDS:-30}
TERMINATION_LOG=${TERMINATION_LOG:-}
SYS=${SYS:-/sys}
HEADINGS="RAIL NETWORK INTERFACE STATE LINK MTU ADDRESS TABLE GATEWAY RDMA-PORT PORT-STATE PORT-LINK"
ROUTE_MAKER="look at what makes it: sbr at the end of the network's chain, or Spiderpool's coordinator (tunePodRoutes)"
LINK_TYPE="look at the link type of the rail's NIC (mlxconfig: LINK_TYPE_P1)"
newline='
'

lines() { printf '%s\n' "$1"; }
failed() { lines "FAILED node $NODE_NAME$1"; }

# fault WHAT WHERE: a failure of the rail that is looked at, and where to look for its cause.
fault() { failed ", rail $rail ($interface, network $network): $1; $2"; }
route_fault() { [ "$ROUTES" = no ] || fault "$@"; }

value() { { read -r text <"$1" && lines "$text"; } 2>/dev/null; }
joined() (IFS=, && lines "$*")
# With spaces around, so that a word can be looked for with a space on either side.
spaced() { lines " $* "; }

# of WORD LINES: what the lines that begin with the word say after it.
of() {
    lines "$2" | while read -r word rest; do
        [ "$word" != "$1" ] || lines "$rest"
    done
}

# after WORD TEXT: the word that follows in a text with spaces around.
after() {
    case $2 in *" $1 "*)
        text=${2#*" $1 "}
        lines "${text%% *}"
        ;;
    esac
}

# expanded ADDRESS: eight groups of four digits, as the kernel writes a GID, IPv4 behind ::ffff:; else status 1.
expanded() (
    all=
    case $1 in
        *[!0-9a-fA-F:.]* | *:*.* | *.*:* | *:::* | *::*::*) return 1 ;;
        *:*)
            IFS=:
            case $1 in *::*) head=${1%%::*} tail=${1#*::} ;; *) head=$1 tail='' ;; esac
            set -- "$1" $head $tail
            lacking=$((9 - $#))
            case $lacking-$1 in 0-* | [1-8]-*::*) ;; *) return 1 ;; esac
            all=$(
                for group in $head; do printf ':%04x' "0x$group"; done
                while [ "$lacking" -gt 0 ]; do printf ':0000' && lacking=$((lacking - 1)); done
                for group in $tail; do printf ':%04x' "0x$group"; done
            )
            ;;
        *.*.*.*)
            IFS=.
            all=$(printf ':0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' $1) || return 1
            ;;
    esac 2>/dev/null
    [ "${#all}" -eq 40 ] && lines "${all#:}"
)

# bits COUNT ADDRESS: the first bits of an expanded address, as numbers of 16 bits and one of the rest.
bits() (
    left=$1
    IFS=:
    for group in $2; do
        [ "$left" -gt 0 ] || break
        printf '%d ' "$((0x$group >> (left < 16 ? 16 - left : 0)))"
        left=$((left - 16))
    done
)

# lies_in ADDRESS SUBNET: true if the subnet's first bits are the address's.
lies_in() (
    case $1-$2 in
        *:*-*:*) length=${2#*/} ;;
        *:*) return 1 ;;
        *) length=$((96 + ${2#*/})) ;;
    esac
    [ "$(bits "$length" "$(expanded "$1")")" = "$(bits "$length" "$(expanded "${2%/*}")")" ]
)

# From `ip link`: INTERFACE STATE MTU TYPE
links() {
    while read -r _ name flags rest; do
        name=${name%:} type=${rest#*link/}
        case ",${flags#<}" in
            *,UP,*LOWER_UP*) state=up ;;
            *,UP,* | *,UP\>) state=no-link ;;
            *) state=down ;;
        esac
        lines "${name%%@*} $state $(after mtu " $rest ") ${type%% *}"
    done
}

# From `ip address`: INTERFACE ADDRESS/LENGTH, without what is known on the link alone.
addresses() {
    while read -r _ name kind address rest; do
        case $kind-$rest in inet*" scope global "* | inet*"-scope global "*) lines "$name $address" ;; esac
    done
}

# From `ip rule`: SOURCE TABLE
sources() {
    while read -r _ from source lookup table _; do
        [ "$from $lookup" != "from lookup" ] || lines "$source $table"
    done
}

# The ports that list interfaces named as the pod's: INTERFACE,GID DEVICE/PORT. They list those of all pods on the node,
# which have the same names: only the GID, which is made from the address, tells the pod's own.
gids() (
    set +f
    for path in "$SYS"/class/infiniband/*/ports/*/gid_attrs/ndevs/*; do
        # An entry that no interface uses may be unreadable. There can be thousands: no process for any of them.
        { read -r name <"$path"; } 2>/dev/null || continue
        case $interfaces in *" $name "*) ;; *) continue ;; esac
        port=${path%/gid_attrs/*}
        { read -r gid <"$port/gids/${path##*/}"; } 2>/dev/null || continue
        nic=${port%/ports/*}
        lines "$name,$gid ${nic##*/}/${port##*/}"
    done
)

own_port() (
    set +f
    for path in "$SYS/class/net/$interface/device/infiniband/"*/ports/*; do
        nic=${path%/ports/*}
        [ ! -e "$path" ] || lines "${nic##*/}/${path##*/}"
    done
)

shared_port() {
    for address in $own; do
        of "$interface,$(expanded "${address%/*}")" "$gids"
    done
}

look_at_link() {
    set -- $(of "$interface" "$links")
    if [ $# -eq 0 ]; then
        state=absent
        fault "the pod has no interface $interface" \
            "look at the pod's events and at the network's NetworkAttachmentDefinition"
        return 1
    fi
    state=$1 has_mtu=$2 has_link=$3
    case $state in
        down) fault "the interface is down" "look at the rail's NIC on the node (ip link)" ;;
        no-link) fault "the interface has no link" "look at the rail's NIC on the node, its cable and switch port" ;;
    esac
    case $mtu in - | "$has_mtu") ;; *)
        fault "MTU $has_mtu, not $mtu" "look at the MTU of the network and of the rail's NIC on the node"
        ;;
    esac
    case $link in - | "$has_link") ;; *) fault "link type $has_link, not $link" "$LINK_TYPE" ;; esac
}

look_at_addresses() {
    own=$(of "$interface" "$addresses")
    for address in $own; do
        address=${address%/*}
        others=$(lines "$addresses" | while read -r name other; do
            [ "$name" = "$interface" ] || [ "${other%/*}" != "$address" ] || lines "$name"
        done)
        [ -z "$others" ] || fault "address $address is also on $(joined $others)" \
            "look for a pool that two networks share: each rail needs its own"
        if [ "$subnet" = - ] || lies_in "$address" "$subnet"; then right="$right $address"; fi
    done
    [ "$subnet" = - ] || [ -n "$right" ] || fault "no address in $subnet${own:+, only $(joined $own)}" \
        "look at the network's pool: whether it is the rail's, and has addresses left"
}

look_at_routes() {
    for address in $right; do
        table=$(of "$address" "$sources")
        # Of several rules the first one counts.
        table=${table%%"$newline"*}
        if [ -z "$table" ]; then
            route_fault "no rule leads from $address to a route table" "$ROUTE_MAKER"
            continue
        fi
        tables="$tables $table"
        case $address in *:*) family=-6 ;; *) family=-4 ;; esac
        routes=$(ip -o "$family" route show table "$table" 2>/dev/null)
        look_at_table "$(spaced $routes)" "$(spaced $(of default "$routes"))"
    done
}

# look_at_table ROUTES DEFAULT: of one address. Routes by interfaces that are no rail's are the cluster's affair.
look_at_table() {
    via=$(after via "$2") by=$(after dev "$2")
    gateways="$gateways $via"
    case $1 in *" dev $interface "*) ;; *)
        route_fault "route table $table of $address has no route by $interface" "$ROUTE_MAKER"
        return
        ;;
    esac
    for other in $interfaces; do
        [ "$other" != "$interface" ] || continue
        case $1 in *" dev $other "*)
            route_fault "route table $table of $address has a route by $other, another rail" "$ROUTE_MAKER"
            return
            ;;
        esac
    done
    [ "${by:-$interface}" = "$interface" ] ||
        route_fault "the default route in table $table of $address leaves by $by" "$ROUTE_MAKER"
    # A rail of both families has a gateway of one.
    case $gateway-$address in *:*-*:*) ;; -* | *:*) return ;; esac
    [ "$(expanded "$via")" = "$(expanded "$gateway")" ] ||
        route_fault "route table $table of $address has no default route to $gateway${via:+, only one to $via}" \
            "look at the gateway of the network's pool"
}

look_at_main_table() {
    for default in "$(of default "$main4")" "$(of default "$main6")"; do
        default=$(spaced $default)
        case $default in *" dev $interface "*)
            fault "the pod's default route leaves by this rail (default${default% })" \
                "look at the network's gateway and routes: they belong into a table of their own"
            ;;
        esac
    done
}

look_at_port() {
    case $device in
        -) return ;;
        own)
            set -- $(own_port)
            [ $# -gt 0 ] || fault "the interface has no RDMA device" \
                "look at the node's RDMA mode (rdma system): exclusive needs plug-in rdma (Spiderpool: rdmaIsolation)"
            ;;
        shared)
            set -- $(shared_port)
            # Where an address is wanted and missing, that is told already.
            if [ $# -eq 0 ] && { [ -n "$own" ] || [ "$subnet" = - ]; }; then
                fault "no RDMA device has the interface's address among its GIDs" \
                    "look at the node's RDMA mode (rdma system), which must be shared, and at the rail's NIC there"
            fi
            ;;
    esac
    [ $# -gt 0 ] || return
    port=$1
    other=$(of "$port" "$ports")
    [ -z "$other" ] || fault "RDMA port $port is also that of rail $(joined $other)" "look at the NICs of both networks"
    ports=$ports$newline"$port $rail"
    set -- "$SYS/class/infiniband/${port%/*}/ports/${port#*/}"
    port_state=$(value "$1/state") port_link=$(value "$1/link_layer")
    # The kernel writes 4: ACTIVE.
    port_state=${port_state##* }
    case $port_state in
        ACTIVE) ;;
        INIT) fault "RDMA port $port is INIT, not ACTIVE" "look at the fabric's subnet manager" ;;
        *)
            fault "RDMA port $port is ${port_state:-unreadable}, not ACTIVE" \
                "look at the rail's NIC on the node, its cable and switch port"
            ;;
    esac
    case $link-$port_link in -* | ether-Ethernet | infiniband-InfiniBand) ;; *)
        fault "the link layer of RDMA port $port is ${port_link:-unreadable}, not $link" "$LINK_TYPE"
        ;;
    esac
}

look_at_rail() {
    state='' has_mtu='' has_link='' own='' right='' tables='' gateways='' port='' port_state='' port_link=''
    if look_at_link; then
        look_at_addresses
        look_at_routes
        look_at_main_table
        look_at_port
    fi
    row="ROW $rail $network $interface"
    for field in "$state" "$has_link" "$has_mtu" "$(joined $own)" "$(joined $tables)" "$(joined $gateways)" \
        "$port" "$port_state" "$port_link"; do
        row="$row ${field:--}"
    done
    lines "$row"
}

# A line `ROW ...` for each rail, and the failures.
look() (
    if ! words=$(ip -o link show 2>&1); then
        words=$(spaced $words)
        failed ": ip fails:${words% }; look at the image and at what the pod may do"
        return
    fi
    links=$(lines "$words" | links)
    addresses=$(ip -o address show | addresses)
    # A kernel without IPv6 has no such rules and routes.
    sources=$({ ip -4 rule show && ip -6 rule show; } 2>/dev/null | sources)
    main4=$(ip -o -4 route show table main 2>/dev/null) main6=$(ip -o -6 route show table main 2>/dev/null)
    interfaces=$(spaced $(lines "$RAILS" | while read -r _ name _; do lines "$name"; done))
    gids='' ports=''
    case $RAILS in *" shared "*) gids=$(gids) ;; esac
    lines "$RAILS" | while read -r rail interface network subnet gateway device link mtu; do
        [ -z "$rail" ] || look_at_rail
    done
)

# aligned TABLE: its columns as wide as their longest words.
aligned() (
    widths=
    IFS=$newline
    for line in $1; do
        unset IFS
        rest=$widths widths=
        for word in $line; do
            width=${rest%% *} rest=${rest#* }
            [ "${#word}" -le "${width:-0}" ] || width=${#word}
            widths="$widths$width "
        done
    done
    lines "$1" | while read -r line; do
        row='' rest=$widths
        for word in $line; do
            row=$row$(printf "%-${rest%% *}s" "$word")"  " rest=${rest#* }
        done
        lines "${row%"${row##*[! ]}"}"
    done
)

failures_in() {
    lines "$1" | while read -r line; do
        case $line in FAILED*) lines "$line" ;; esac
    done
}

leave_behind() { [ -z "$1" ] || [ -z "$TERMINATION_LOG" ] || lines "$1" >"$TERMINATION_LOG"; }

# show SEEN: the table and below it the failures; status 1 if there are any.
show() {
    rows=$(of ROW "$1") failures=$(failures_in "$1")
    leave_behind "$failures"
    lines "node $NODE_NAME: ${failures:+not }as planned"
    aligned "$HEADINGS${rows:+$newline$rows}"
    [ -z "$failures" ] || { lines "$failures" && return 1; }
}

watch() {
    before=
    while :; do
        seen=$(look)
        if [ "$seen" != "$before" ]; then show "$seen"; fi
        before=$seen
        # A sleep in the foreground would hold TERM back until it ends.
        sleep "$LOOK_AGAIN_SECONDS" &
        pause=$!
        wait "$pause"
    done
}

# shellcheck disable=SC2329 # the trap calls it
end() {
    [ -z "${pause:-}" ] || kill "$pause" 2>/dev/null
    exit 143
}

check() {
    failures=$(failures_in "$(look)")
    [ -z "$failures" ] || { lines "$failures" && return 1; }
}

is_number() { case $1 in '' | *[!0-9]* | ??????????*) return 1 ;; esac }

is_subnet() {
    case $1 in
        *:*/*) most=128 ;;
        */*) most=32 ;;
        *) return 1 ;;
    esac
    expanded "${1%/*}" >/dev/null && is_number "${1#*/}" && [ "${1#*/}" -le "$most" ]
}

is_rail() {
    [ $# -eq 8 ] && is_number "$1" || return 1
    [ "$4" = - ] || is_subnet "$4" || return 1
    [ "$5" = - ] || expanded "$5" >/dev/null || return 1
    case $6 in own | shared | -) ;; *) return 1 ;; esac
    case $7 in ether | infiniband | -) ;; *) return 1 ;; esac
    [ "$8" = - ] || is_number "$8"
}

# What is wrong with the environment, in words.
mistakes() {
    for program in ip sleep; do
        command -v "$program" >/dev/null || lines "no program $program in this image; choose an image with it"
    done
    [ -n "$NODE_NAME" ] || lines "NODE_NAME is empty; give the node's name"
    case $ROUTES in yes | no) ;; *) lines "ROUTES is '$ROUTES'; give yes or no" ;; esac
    is_number "$LOOK_AGAIN_SECONDS" || lines "LOOK_AGAIN_SECONDS is '$LOOK_AGAIN_SECONDS'; give whole seconds"
    [ -n "$RAILS" ] || lines "RAILS is empty; give a line for each rail"
    lines "$RAILS" | while read -r rail; do
        [ -z "$rail" ] || is_rail $rail ||
            lines "RAILS has a line '$rail'; give RAIL INTERFACE NETWORK SUBNET GATEWAY DEVICE LINK MTU"
    done
    case $1 in watch | once | check) ;; *) lines "mode is '$1'; give watch, once or check" ;; esac
}

main() {
    trap end TERM INT
    mistakes=$(mistakes "$1")
    if [ -n "$mistakes" ]; then
        mistakes=$(lines "$mistakes" | while read -r mistake; do failed ": $mistake"; done)
        [ "$1" = check ] || leave_behind "$mistakes"
        lines "$mistakes" >&2
        return 2
    fi
    case $1 in
        watch) watch ;;
        once) show "$(look)" ;;
        check) check ;;
    esac
}

# It may come in on standard input, which no command may swallow.
main "${1:-}" </dev/null
exit $?
