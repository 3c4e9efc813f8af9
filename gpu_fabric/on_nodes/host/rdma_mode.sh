# Sets the RDMA subsystem's network-namespace mode: now where the kernel lets it, and for the node's next start where
# something else does not see to it. Its environment is that of the part for the RDMA subsystem.

wants_settings() { wants_rdma_mode; }

summary() { printf 'RDMA mode %s' "$RDMA_MODE"; }

visit() {
    local mode subject="RDMA mode"
    mode=$(rdma_mode) || { LACKING=$((LACKING + 1)) && return; }
    if [[ $mode == "$RDMA_MODE" ]]; then
        ! is_rdma_mode_forgotten ||
            wrong "$subject" "$RDMA_FILE has '$(value "$RDMA_FILE")' for the next start" "make it writable" \
                write "$(rdma_option)" "$RDMA_FILE"
    elif [[ $DOING != change ]]; then
        cannot "$subject" "$mode, not $RDMA_MODE" "would be put right by \`rdma system set netns $RDMA_MODE\` and by \
'$(rdma_option)' in $RDMA_FILE for the next start, which the kernel waits for where pods run"
    elif set_rdma_mode; then
        CHANGES=$((CHANGES + 1))
    elif is_rdma_mode_kept; then
        needs_reboot "$subject" "$mode, not $RDMA_MODE" "this node starts with $RDMA_MODE"
    else
        LACKING=$((LACKING + 1))
    fi
}

main "$@" </dev/null
exit $?
