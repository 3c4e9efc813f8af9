# Loads the module that gives InfiniBand ports a network interface, now and at the node's next start, and looks whether
# every rail has its interface. From the environment it reads, beside INTERFACES:
#
#   MODULES_DIR   the folder with the names of the modules that the node loads when it starts

MODULES_DIR=${MODULES_DIR:-/etc/modules-load.d}
MODULE=ib_ipoib
FILE=$MODULES_DIR/gpu-fabric-ipoib.conf

wants_settings() { wants_interfaces; }

summary() { printf 'all %s interfaces are InfiniBand' "${#RAILS[@]}"; }

visit() {
    local i last
    [[ $(value "$FILE") == "$MODULE" ]] ||
        wrong "module $MODULE" "not loaded at the next start" "make $MODULES_DIR writable on this node" \
            write "$MODULE" "$FILE"
    if [[ ! -d $SYS/module/$MODULE ]]; then
        wrong "module $MODULE" "not loaded" "install the driver of the NICs with it (DOCA-OFED)" modprobe "$MODULE" &&
            [[ $DOING == change ]] || return 0
    fi
    # Interfaces come a moment after the module; only a run that changes things waits for them.
    last=$((SECONDS + WAIT_SECONDS))
    for i in "${!RAILS[@]}"; do
        if [[ $DOING == change ]] && ! within "$last" has_interface "${RAILS[i]}" || ! has_interface "${RAILS[i]}"; then
            lacks_interface "$i" "whether the NIC's link type is InfiniBand"
        elif ! is_infiniband "${RAILS[i]}"; then
            cannot "$(rail "$i")" "not InfiniBand" "correct the rail's interface, or set the NIC's link type"
        fi
    done
}

main "$@" </dev/null
exit $?
