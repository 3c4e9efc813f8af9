# Part of the scripts that set the RDMA subsystem's network-namespace mode. From the environment they read:
#
#   RDMA_MODE      shared or exclusive
#   MODPROBE_DIR   the folder of the node's module options

RDMA_MODE=${RDMA_MODE:-}
MODPROBE_DIR=${MODPROBE_DIR:-/etc/modprobe.d}
RDMA_FILE=$MODPROBE_DIR/gpu-fabric-rdma.conf

wants_rdma_mode() { wants RDMA_MODE "shared|exclusive" "shared or exclusive"; }

rdma_mode() {
    local answer
    answer=$(bounded rdma system show 2>&1) && [[ $answer =~ netns\ ([a-z]+) ]] ||
        failed "RDMA mode: \`rdma system show\` says '$answer'; this node needs iproute2's rdma, and ib_core" ||
        return 1
    printf '%s\n' "${BASH_REMATCH[1]}"
}

# ib_core knows the modes as 1 (shared) and 0 (exclusive).
rdma_option() {
    local shared=1
    [[ $RDMA_MODE == exclusive ]] && shared=0
    printf 'options ib_core netns_mode=%s' "$shared"
}

is_rdma_mode_kept() { [[ $(value "$RDMA_FILE") == "$(rdma_option)" ]]; }

# Only a file of an earlier wish is wrong: without one, something else already sees to the mode.
is_rdma_mode_forgotten() { [[ -e $RDMA_FILE ]] && ! is_rdma_mode_kept; }

# Has the node's next start begin in the wanted mode.
keep_rdma_mode() {
    is_rdma_mode_kept && return 0
    store "$(rdma_option)" "$RDMA_FILE" ||
        failed "RDMA mode: cannot write $RDMA_FILE: $said; make it writable on this node" || return 1
    say "RDMA mode: wrote '$(rdma_option)' to $RDMA_FILE"
}

set_rdma_mode() {
    local mode words
    mode=$(rdma_mode) || return 1
    if [[ $mode == "$RDMA_MODE" ]]; then
        ! is_rdma_mode_forgotten || keep_rdma_mode
        return
    fi
    # The kernel refuses as soon as there is a second network namespace, which is the rule where pods run.
    if words=$(bounded rdma system set netns "$RDMA_MODE" 2>&1); then
        say "RDMA mode: changed from $mode to $RDMA_MODE"
        keep_rdma_mode
        return
    fi
    keep_rdma_mode || return 1
    failed "RDMA mode: $mode, and the kernel refuses $RDMA_MODE while pods run ($words);" \
        "reboot this node (if its initramfs loads ib_core, rebuild that first)"
}
