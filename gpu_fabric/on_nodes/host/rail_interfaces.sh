# Part of the scripts that name NICs by their network interface. From the environment they read:
#
#   INTERFACES   the interfaces in rail order, separated by spaces

INTERFACES=${INTERFACES:-}
read -r -d '' -a RAILS <<<"$INTERFACES"
NET=$SYS/class/net

rail() { printf 'rail %s, %s' "$1" "${RAILS[$1]}"; }

has_interface() { [[ -d $NET/$1 ]]; }
is_infiniband() { [[ $(value "$NET/$1/type") == 32 ]]; }

wants_interfaces() {
    local name
    ((${#RAILS[@]})) || refuse INTERFACES "at least one interface, such as rdma0"
    for name in "${RAILS[@]}"; do
        wants name '[^/[:space:]]{1,15}' "INTERFACES as \`ip link\` names them, of 15 characters at most"
    done
}

lacks_interface() { cannot "$(rail "$1")" "no such interface on this node" "see \`ip link\`, and $2"; }
