# Keeps all traffic but the fabric's own off the rails: the policy rule `not to FABRIC_RANGE lookup main` sends it to
# table main before any table of a rail is asked, whatever address it has chosen to come from. There is one such rule:
# one for another range, of an earlier wish, goes once the new one is there. Rules of other forms are left alone.
# From the environment it reads, beside RULE_PRIORITY:
#
#   FABRIC_RANGE   the network of all rails, IPv4 or IPv6

FABRIC_RANGE=${FABRIC_RANGE:-}
# 254 is the number of table main.
FORM='^not from all to ([^ ]+) lookup 254$'

wants_settings() {
    wants_rule_priority
    is_network "$FABRIC_RANGE" || refuse FABRIC_RANGE "one network without host bits, such as 172.16.0.0/16"
    RANGE=$network RANGE_LENGTH=$length FAMILY=$(family_of "$network")
}

summary() { printf 'all but %s leaves by table main, by the rule at priority %s' "$FABRIC_RANGE" "$RULE_PRIORITY"; }

is_ours() { [[ $1 =~ $FORM ]] && is_prefix "${BASH_REMATCH[1]}" "$RANGE" "$RANGE_LENGTH"; }

visit() {
    local rule count=0 place="priority $RULE_PRIORITY" this=(to "$FABRIC_RANGE" table main)
    read_rules "$FAMILY" || { lacks_rules "$FAMILY" && return; }
    for rule in "${rules[@]}"; do
        ! is_ours "$rule" || count=$((count + 1))
    done
    ((count)) ||
        wrong "fabric rule" "none at $place sends all but $FABRIC_RANGE to table main" \
            "the kernel needs CONFIG_IP_MULTIPLE_TABLES" \
            ip "$FAMILY" rule add priority "$RULE_PRIORITY" not "${this[@]}" || return
    for ((; count > 1; count--)); do
        wrong "fabric rule" "$count at $place, not 1" "see \`ip rule\`" \
            ip "$FAMILY" rule del priority "$RULE_PRIORITY" not "${this[@]}"
    done
    remove_others -4
    remove_others -6
}

# A host without IPv6 has no rules of that family either.
remove_others() {
    local rule range
    read_rules "$1" || return 0
    for rule in "${rules[@]}"; do
        [[ $rule =~ $FORM ]] || continue
        range=${BASH_REMATCH[1]}
        is_ours "$rule" ||
            wrong "fabric rule" "one for $range at priority $RULE_PRIORITY, too" "see \`ip rule\`" \
                ip "$1" rule del priority "$RULE_PRIORITY" not to "$range" table main
    done
}

main "$@" </dev/null
exit $?
