# Part of the scripts that make policy rules: addresses as numbers, so that they are the same however they are written,
# and the rules of one priority. From the environment they read:
#
#   RULE_PRIORITY   of the rules, 1001 to 32765: after those that Spiderpool makes, before table main

shopt -s extglob
RULE_PRIORITY=${RULE_PRIORITY:-}
# What the functions below fill.
digits='' network='' length=0 rules=() answer=''

wants_rule_priority() {
    [[ $RULE_PRIORITY =~ ^$NUMBER$ ]] && ((RULE_PRIORITY > 1000 && RULE_PRIORITY < 32766)) ||
        refuse RULE_PRIORITY "a whole number from 1001 to 32765"
}

# digits_of ADDRESS: its bits, in $digits, as 8 hexadecimal digits (IPv4) or 32 (IPv6); status 1 where it is none.
digits_of() {
    local group groups=() tail=()
    digits=
    if [[ $1 =~ ^([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})$ ]]; then
        for group in "${BASH_REMATCH[@]:1}"; do
            ((10#$group < 256)) || return 1
            printf -v digits '%s%02x' "$digits" "$((10#$group))"
        done
        return 0
    fi
    [[ $1 == *:* && $1 != *:::* && $1 != *::*::* && $1 != :[!:]* && $1 != *[!:]: ]] || return 1
    IFS=: read -r -a groups <<<"${1%%::*}"
    if [[ $1 == *::* ]]; then
        IFS=: read -r -a tail <<<"${1#*::}"
        ((${#groups[@]} + ${#tail[@]} < 8)) || return 1
        while ((${#groups[@]} + ${#tail[@]} < 8)); do groups+=(0); done
    fi
    groups+=("${tail[@]}")
    ((${#groups[@]} == 8)) || return 1
    for group in "${groups[@]}"; do
        [[ $group =~ ^[0-9a-fA-F]{1,4}$ ]] || return 1
        printf -v digits '%s%04x' "$digits" "$((16#$group))"
    done
}

# mask DIGITS LENGTH: the first LENGTH bits, in $network, and zeros for the others.
mask() {
    local i digit keep left=$2
    network=
    for ((i = 0; i < ${#1}; i++)); do
        keep=$((left < 0 ? 0 : left > 4 ? 4 : left))
        printf -v digit '%x' "$((16#${1:i:1} >> (4 - keep) << (4 - keep)))"
        network+=$digit
        left=$((left - 4))
    done
}

# read_prefix ADDRESS/LENGTH: fills $digits, $length and $network; status 1 where it is something else.
read_prefix() {
    [[ $1 == */* ]] || return 1
    length=${1##*/}
    digits_of "${1%/*}" && [[ $length =~ ^[0-9]{1,3}$ ]] && ((10#$length <= 4 * ${#digits})) || return 1
    length=$((10#$length))
    mask "$digits" "$length"
}

# A network that is more than nothing and less than one address, without bits of a host.
is_network() { read_prefix "$1" && [[ $digits == "$network" ]] && ((length > 0 && length < 4 * ${#digits})); }

# is_prefix TEXT NETWORK LENGTH: whether the text is that network, given in digits.
is_prefix() { read_prefix "$1" && [[ $network == "$2" && $length == "$3" ]]; }

is_address() { digits_of "$1" && [[ $digits == "$2" ]]; }

# The family of an address in digits, as an option of ip.
family_of() { ((${#1} == 8)) && say -4 || say -6; }

# A network in digits, as text that ip takes.
text_of() {
    local i text=
    if ((${#1} == 8)); then
        printf '%d.%d.%d.%d' "0x${1:0:2}" "0x${1:2:2}" "0x${1:4:2}" "0x${1:6:2}"
        return
    fi
    for ((i = 0; i < 32; i += 4)); do
        printf -v text '%s:%x' "$text" "0x${1:i:4}"
    done
    text=${text#:}
    [[ $text != *:0:0 ]] || text=${text%%+(:0)}::
    printf '%s' "$text"
}

# read_rules FAMILY: the rules at RULE_PRIORITY, in $rules, with tables as numbers and without who made them.
read_rules() {
    local priority rule
    rules=()
    answer=$(bounded ip -N "$1" rule show 2>&1) || return 1
    while read -r priority rule; do
        [[ $priority != "$RULE_PRIORITY:" ]] || rules+=("${rule%% proto *}")
    done <<<"$answer"
}

lacks_rules() {
    cannot "policy rules" "\`ip -N $1 rule show\` says '$answer'" "this node needs an \`ip\` that knows -N"
}
