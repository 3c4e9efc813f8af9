# What both boot scripts begin with. The instance's metadata service is asked in its second version only, which wants
# the header; the first is switched off.

# shellcheck disable=SC2034,SC2317,SC2329 # parts use each other's names; commands are called by name
set -u -o pipefail
export LC_ALL=C
export PATH="${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

METADATA=http://169.254.169.254/opc/v2/instance/metadata
TRIES=${TRIES:-20}
PAUSE=${PAUSE:-15}
ROOT=${ROOT:-} # below another folder in tests

say() { printf 'gpu-fabric: %s\n' "$*"; }

# again COMMAND...: until it succeeds, TRIES times at most with PAUSE seconds between.
again() {
    local try
    for ((try = 1; try <= TRIES; try++)); do
        "$@" && return
        say "$1 failed, try $try of $TRIES"
        ((try == TRIES)) || sleep "$PAUSE"
    done
    return 1
}

# metadata KEY: its value, or status 1 where there is none.
metadata() { curl --fail --silent --max-time 10 -H 'Authorization: Bearer Oracle' "$METADATA/$1"; }

# wants VARIABLE KEY: puts the value of a metadata key into the variable; status 1 where it is missing or empty.
wants() {
    local value
    value=$(metadata "$2") && [[ -n $value ]] && printf -v "$1" '%s' "$value"
}

# step NAME BASE64: Bash of the stack file, in a shell of its own. What fails there keeps no node away.
step() {
    [[ -z $2 ]] && return
    say "running $1"
    base64 -d <<<"$2" | bash || say "$1 failed; the node goes on"
}
