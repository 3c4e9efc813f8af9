# Gives the NIC of every rail its address, its MTU and, where there is a gateway, a table of routes of its own. It reads
# the plan again at every look: a file per rail and node, ADDRESSES/03/NODE_NAME for rail 3, of one line:
#
#   INTERFACE ADDRESS/LENGTH [GATEWAY]
#
# What comes from the rail's address asks the rail's table, which holds the subnet and a default route by the gateway.
# Table main never gets a default route: that would draw the node's other traffic into the fabric.
#
# Nothing is written for the node's next start, neither into netplan nor into NetworkManager: netplan would apply it to
# all of the node's NICs, and a rail that the plan no longer has would come back. After each start the DaemonSet puts
# it right.
#
# An address in the rail's subnet that is not of the plan is told with the command that removes it: who set it will set
# it again. From the environment the script reads, beside RULE_PRIORITY:
#
#   NODE_NAME      this node's name
#   ADDRESSES      the folder with a folder per rail, each of two digits or more
#   RAILS          the folders that count, separated by spaces; empty for all: those of rails that a smaller plan no
#                  longer has stay, empty, until the node's next start
#   MTU            bytes, for the NICs; empty leaves it as it is
#   FABRIC_RANGE   empty, or the network of all rails: the host's way there is by the first rail's gateway
#   FIRST_TABLE    the table of rail 0; that of rail 3 is the third after it

NODE_NAME=${NODE_NAME:-}
ADDRESSES=${ADDRESSES:-}
RAILS=${RAILS:-}
MTU=${MTU:-}
FABRIC_RANGE=${FABRIC_RANGE:-}
FIRST_TABLE=${FIRST_TABLE:-}
ROUTE='^([^ ]+)( via ([^ ]+))? dev ([^ ]+)'

wants_settings() {
    wants NODE_NAME '[a-z0-9]([-.a-z0-9]*[a-z0-9])?' "this node's name"
    wants ADDRESSES '/.+' "the folder with the plan's addresses"
    wants MTU "($NUMBER)?" "bytes, or nothing"
    [[ -z $FABRIC_RANGE ]] || is_network "$FABRIC_RANGE" ||
        refuse FABRIC_RANGE "one network without host bits, such as 172.16.0.0/16, or nothing"
    wants_rule_priority
    [[ $FIRST_TABLE =~ ^$NUMBER$ ]] && ((FIRST_TABLE <= 153 || FIRST_TABLE > 255)) ||
        refuse FIRST_TABLE "a whole number up to 153 or from 256, so that 100 tables stay clear of 253 to 255, the system's"
}

summary() { printf 'all %s rails have the addresses of the plan' "$count"; }

visit() {
    local folder rail file
    count=0
    for folder in "$ADDRESSES"/[0-9][0-9]*/; do
        rail=${folder%/}
        rail=${rail##*/}
        [[ $rail =~ ^[0-9]+$ && -d $folder ]] || continue
        [[ -z $RAILS || " $RAILS " == *" $rail "* ]] || continue
        count=$((count + 1))
        file=$folder$NODE_NAME
        rail=$((10#$rail))
        if [[ -r $file ]]; then
            visit_rail
        else
            cannot "rail $rail" "the plan has no address for node $NODE_NAME" "name it in nodeNames of its pool"
        fi
    done
    ((count)) || cannot "addresses" "no folder of a rail in $ADDRESSES" "see whether the plan's ConfigMaps are there"
}

# All of the following is about one rail, and sees the variables of visit and visit_rail.
visit_rail() {
    local interface prefix gateway rest subject="rail $rail" own subnet bits family table
    read -r interface prefix gateway rest <<<"$(value "$file" | tr '\n' ' ')"
    is_planned || { cannot "$subject" "'$(value "$file")' in $file is not INTERFACE ADDRESS/LENGTH [GATEWAY]" \
        "see the plan's ConfigMap" && return; }
    subject+=", $interface"
    set_link && set_address || return 0
    set_table && set_rules
    [[ -z $FABRIC_RANGE ]] || ((count > 1)) || set_fabric_route
}

# Whether the line is as it should be; fills the address's digits, its subnet, the subnet's length and the family.
is_planned() {
    [[ $interface =~ ^[^/]{1,15}$ && -z $rest ]] && read_prefix "$prefix" || return 1
    own=$digits subnet=$network bits=$length
    family=$(family_of "$own")
    table=$((FIRST_TABLE + rail))
    [[ -z $gateway ]] || { read_prefix "$gateway/$bits" && [[ $network == "$subnet" ]]; }
}

set_link() {
    local link flags mtu
    if ! link=$(bounded ip -o link show dev "$interface" 2>&1); then
        cannot "$subject" "no such interface on this node" "see \`ip link\`, and correct the rail's interface"
        return 1
    fi
    [[ $link =~ \<([^\>]*)\>\ mtu\ ([0-9]+) ]]
    flags=${BASH_REMATCH[1]} mtu=${BASH_REMATCH[2]}
    [[ -z $MTU || $mtu == "$MTU" ]] ||
        wrong "$subject" "MTU $mtu, not $MTU" "choose one that this NIC allows" \
            ip link set dev "$interface" mtu "$MTU" || return
    [[ ,$flags, == *,UP,* ]] || wrong "$subject" "down" "see this node's dmesg for it" \
        ip link set dev "$interface" up
}

set_address() {
    local found is_set=false line lines
    mapfile -t lines < <(bounded ip -o "$family" addr show dev "$interface" 2>/dev/null)
    for line in "${lines[@]}"; do
        read -r _ _ _ found _ <<<"$line"
        read_prefix "$found" || continue
        if [[ $digits == "$own" && $length == "$bits" ]]; then
            is_set=true
            continue
        fi
        mask "$digits" "$bits"
        [[ $network != "$subnet" ]] ||
            cannot "$subject" "has the address $found, too, which is not of the plan" \
                "remove it by \`ip addr del $found dev $interface\`, and from what sets it when this node starts"
    done
    [[ $is_set == true ]] ||
        wrong "$subject" "no address $prefix" "see \`ip addr show dev $interface\`" \
            ip "$family" addr add "$prefix" dev "$interface"
}

# The routes of the rail's table. Only routes through the rail's own interface are taken for leftovers of an older plan.
set_table() {
    local line lines destination via dev text default="has no default route" link="has no route of its own subnet"
    text=$(text_of "$subnet")/$bits
    # A table without routes is an error to ip.
    mapfile -t lines < <(bounded ip -N "$family" route show table "$table" 2>/dev/null)
    for line in "${lines[@]}"; do
        if [[ $line =~ $ROUTE ]]; then
            destination=${BASH_REMATCH[1]} via=${BASH_REMATCH[3]} dev=${BASH_REMATCH[4]}
            if [[ -n $gateway && $destination == default ]]; then
                default="has the default route by ${via:-no gateway} and $dev"
                is_by "$gateway" && default=
                continue
            fi
            if [[ -n $gateway ]] && is_prefix "$destination" "$subnet" "$bits"; then
                link="reaches its own subnet by $dev${via:+ and $via}"
                is_by "" && link=
                continue
            fi
            if [[ $dev == "$interface" ]]; then
                wrong "$subject" "table $table leads to $destination, too" "see \`ip route show table $table\`" \
                    ip "$family" route del "$destination" ${via:+via "$via"} dev "$dev" table "$table"
                continue
            fi
        fi
        cannot "$subject" "table $table holds '${line% }', which is not of the plan" \
            "choose other tables, or remove it by \`ip $family route del ${line% } table $table\`"
    done
    [[ -n $gateway ]] || return 0
    [[ -z $link ]] || wrong "$subject" "table $table $link" "see \`ip route show table $table\`" \
        ip "$family" route replace "$text" dev "$interface" table "$table" || return
    [[ -z $default ]] || wrong "$subject" "table $table $default" "see whether $gateway is in the subnet" \
        ip "$family" route replace default via "$gateway" dev "$interface" table "$table"
}

# Whether the route just read leads by that gateway, or by none, and the rail's interface.
is_by() {
    [[ $dev == "$interface" ]] || return 1
    if [[ -z $1 ]]; then
        [[ -z $via ]]
    else
        [[ -n $via ]] && digits_of "$1" && is_address "$via" "$digits"
    fi
}

# One rule leads from the rail's address to the rail's table; another of our priority with either of them is old.
set_rules() {
    local rule found=0 old=() from to address=${prefix%/*}
    read_rules "$family" || { lacks_rules "$family" && return; }
    for rule in "${rules[@]}"; do
        [[ $rule =~ ^from\ ([^ ]+)\ lookup\ ([0-9]+)$ ]] || continue
        from=${BASH_REMATCH[1]} to=${BASH_REMATCH[2]}
        if [[ -n $gateway && $to == "$table" ]] && is_address "$from" "$own"; then
            found=$((found + 1))
            ((found == 1)) || old+=("$from $to")
        elif [[ $to == "$table" ]] || is_address "$from" "$own"; then
            old+=("$from $to")
        fi
    done
    [[ -z $gateway ]] || ((found)) ||
        wrong "$subject" "no rule from $address to table $table" "see \`ip rule\`" \
            ip "$family" rule add priority "$RULE_PRIORITY" from "$address" table "$table" || return
    for rule in "${old[@]}"; do
        read -r from to <<<"$rule"
        wrong "$subject" "a rule from $from to table $to, too" "see \`ip rule\`" \
            ip "$family" rule del priority "$RULE_PRIORITY" from "$from" table "$to"
    done
}

set_fabric_route() {
    local line lines destination via dev range range_bits lack="no route to $FABRIC_RANGE in table main"
    is_network "$FABRIC_RANGE" && range=$network range_bits=$length
    # The subnet's own route is there already, and must stay.
    [[ $range/$range_bits != "$subnet/$bits" ]] || return 0
    if [[ -z $gateway || $(family_of "$range") != "$family" ]]; then
        cannot "$subject" "no gateway towards $FABRIC_RANGE" "give the rails one of that family in the plan"
        return
    fi
    mapfile -t lines < <(bounded ip -N "$family" route show table main 2>/dev/null)
    for line in "${lines[@]}"; do
        [[ $line =~ $ROUTE ]] || continue
        destination=${BASH_REMATCH[1]} via=${BASH_REMATCH[3]} dev=${BASH_REMATCH[4]}
        is_prefix "$destination" "$range" "$range_bits" || continue
        lack="$FABRIC_RANGE is reached by $dev${via:+ and $via} in table main"
        ! is_by "$gateway" || return 0
    done
    wrong "$subject" "$lack" "see \`ip route\`" \
        ip "$family" route replace "$FABRIC_RANGE" via "$gateway" dev "$interface" table main
}
