#!/bin/bash
# What all scripts of this folder begin with. A script and its parts are one text, which a privileged pod pipes into
# the Bash of the node's own root file system, network and process namespace:
#
#   bash -s -- configure < NAME.sh   do it, retry after a pause while something lacks, then look again now and then
#   bash -s -- once      < NAME.sh   do it; exit status 1 where something lacks
#   bash -s -- check     < NAME.sh   exit status 0 if all is as wanted, else 1 and a line for each thing that lacks
#
# A script names its own environment in its head. From the environment all of them read:
#
#   WAIT_SECONDS         the longest that any one wait or command may take
#   RETRY_SECONDS        `configure`: the first pause before another try; each pause is twice the last, 300 at most
#   LOOK_AGAIN_SECONDS   `configure`: the pause before the next look at a host on which all is as wanted
#   SYS                  where sysfs is mounted
#
# A wrong variable is exit status 2. No script ever reboots a node: where that is needed it says REBOOT NEEDED.

# shellcheck disable=SC2034,SC2317,SC2329 # parts use each other's names; conditions are called by name
set -u -o pipefail
export LC_ALL=C
# A container's PATH often lacks the folders in which nodes keep ip, rdma and crictl.
export PATH="${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin"

SYS=${SYS:-/sys}
WAIT_SECONDS=${WAIT_SECONDS:-300}
RETRY_SECONDS=${RETRY_SECONDS:-10}
LOOK_AGAIN_SECONDS=${LOOK_AGAIN_SECONDS:-60}
MODES=(configure once check)
NUMBER='[1-9][0-9]{0,8}'
WRONG_SETTINGS=0
WAS_READY=false # whether the last look found, or left, everything as wanted

say() { printf '%s\n' "$*"; }

failed() {
    local words="$*"
    printf 'FAILED %s\n' "${words//$'\n'/ }" >&2
    return 1
}

# A sleep in the foreground would hold TERM back until it ends.
pause() {
    sleep "$1" &
    wait "$!"
}

end() {
    local job
    for job in $(jobs -p); do kill "$job"; done
    exit 143
}

bounded() { timeout "$WAIT_SECONDS" "$@"; }

# within END COMMAND...: asks again and again until COMMAND succeeds; status 1 once the second END is over.
within() {
    local last=$1
    shift
    until "$@"; do
        ((SECONDS > last)) && return 1
        pause 0.05
    done
}

soon() { within $((SECONDS + WAIT_SECONDS)) "$@"; }

# store VALUE FILE: status 1 and the kernel's words in $said where the file does not take the value.
store() { said=$({ printf '%s\n' "$1" >"$2"; } 2>&1); }

value() { cat "$1" 2>/dev/null; }

is_there() { command -v "$1" >/dev/null; }

# refuse NAME ADVICE: the variable NAME is wrong. All wrong ones are named before the script ends.
refuse() {
    WRONG_SETTINGS=$((WRONG_SETTINGS + 1))
    failed "$1 is '${!1}'; give $2"
}

# wants NAME PATTERN ADVICE: whether the variable NAME is as the pattern says.
wants() { [[ ${!1} =~ ^($2)$ ]] || refuse "$1" "$3"; }

once() { set_up; }

configure() {
    local delay=$RETRY_SECONDS
    while :; do
        if set_up; then
            WAS_READY=true
            delay=$RETRY_SECONDS
            pause "$LOOK_AGAIN_SECONDS"
        else
            WAS_READY=false
            say "trying again in $delay s"
            pause "$delay"
            delay=$((delay * 2 < 300 ? delay * 2 : 300))
        fi
    done
}

# A script defines `wants_settings`, which refuses a wrong environment, `set_up` and `check`. Its last lines call this;
# the script itself comes in on standard input, which no command may swallow.
main() {
    local known
    trap end TERM INT
    wants WAIT_SECONDS "$NUMBER" "whole seconds from 1"
    wants RETRY_SECONDS "$NUMBER" "whole seconds from 1"
    wants LOOK_AGAIN_SECONDS "$NUMBER|infinity" "whole seconds from 1"
    wants_settings
    ((WRONG_SETTINGS == 0)) || return 2
    if [[ ! ${1:-} =~ ^[a-z]+$ || " ${MODES[*]} " != *" $1 "* ]]; then
        printf -v known '%s, ' "${MODES[@]:0:${#MODES[@]}-1}"
        failed "mode is '${1:-}'; give ${known%, } or ${MODES[-1]}"
        return 2
    fi
    "$1"
}
