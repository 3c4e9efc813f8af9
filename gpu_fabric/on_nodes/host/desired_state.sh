# Part of the scripts that compare a host with what is wanted, one thing after the other. They have one more mode:
#
#   bash -s -- report < NAME.sh   change nothing; say line by line what would be changed, and look again now and then:
#                                 the answer is said again when it is another one
#
# Such a script defines `visit`, which looks at everything and calls, for each thing that is not as wanted, `wrong`,
# `cannot` or `needs_reboot`; and `summary`, which says what holds when nothing lacks.

MODES+=(report)
DOING=check # or report, change, or verify what was changed
LACKING=0
CHANGES=0

# run COMMAND...: a program within the time limit, or `write VALUE FILE`.
run() {
    if [[ $1 == write ]]; then
        store "$2" "$3" || { say "$said" && return 1; }
    else
        bounded "$@"
    fi
}

named() {
    if [[ $1 == write ]]; then
        printf "writing '%s' to %s" "$2" "$3"
    else
        # shellcheck disable=SC2016 # the quotes are those of a shell's user
        printf '`%s`' "$*"
    fi
}

# wrong SUBJECT LACK ADVICE COMMAND...: SUBJECT is not as wanted, which COMMAND puts right; ADVICE where that fails.
wrong() {
    local subject=$1 lack=$2 advice=$3 words again=
    shift 3
    case $DOING in
        check) say "$subject: $lack" ;;
        verify) say "$subject: $lack; $advice" ;;
        report) say "$subject: $lack; would be put right by $(named "$@")" ;;
        change)
            [[ $WAS_READY == false ]] || again="changed since the last look: "
            if words=$(run "$@" 2>&1); then
                CHANGES=$((CHANGES + 1))
                say "$again$subject: $lack; put right by $(named "$@")"
                return
            fi
            LACKING=$((LACKING + 1))
            failed "$again$subject: $lack, and $(named "$@") fails: $words; $advice"
            return
            ;;
    esac
    LACKING=$((LACKING + 1))
}

# cannot SUBJECT LACK ADVICE: SUBJECT is not as wanted, and only the reader of the message can put it right.
cannot() {
    LACKING=$((LACKING + 1))
    case $DOING in
        check) say "$1: $2" ;;
        report | verify) say "$1: $2; $3" ;;
        change) failed "$1: $2; $3" || return 0 ;;
    esac
}

# needs_reboot SUBJECT LACK WORDS: SUBJECT will be as wanted after the node's next start.
needs_reboot() {
    LACKING=$((LACKING + 1))
    say "$1: $2"
    [[ $DOING == check ]] || say "REBOOT NEEDED: $1: $3"
}

# look DOING: whether nothing lacks.
look() {
    DOING=$1 LACKING=0
    visit
    ((LACKING == 0))
}

check() { look check; }

set_up() {
    local lacks
    CHANGES=0
    look change || return 1
    if ((CHANGES)); then
        lacks=$(look verify 2>&1) || failed "put right, and yet not as wanted: $lacks" || return 1
        say "ready: $(summary)"
    elif [[ $WAS_READY == false ]]; then
        say "ready: $(summary); nothing had to be changed"
    fi
}

would() {
    if look report 2>&1; then
        say "dry run: nothing would be changed: $(summary)"
    else
        say "dry run: nothing was changed"
    fi
}

report() {
    local answer last=
    while :; do
        answer=$(would)
        [[ $answer == "$last" ]] || say "$answer"
        last=$answer
        pause "$LOOK_AGAIN_SECONDS"
    done
}
