# Makes a machine a node of its cluster, as cloud-init's user data, at its first start. Nothing is fetched but the
# instance's own metadata: what joins is part of the image.
#
#   MODE                self-managed: with address and authority of the API server from the metadata keys
#                       apiserver_host and cluster_ca_cert; managed: by the script that the node pool brings with it
#   KUBELET_EXTRA_ARGS  further arguments of the kubelet; may be empty
#   BEFORE_JOIN         Bash in base64 to run before, and AFTER_JOIN afterwards; each may be empty
#
# Exit status 1 where the node did not join; cloud-init then shows the machine as failed.

# The image's volume is larger than its file system. Only Oracle Linux' images need and have the tool.
grow_root() {
    local tool=$ROOT/usr/libexec/oci-growfs
    [[ ! -x $tool ]] || "$tool" -y || say "the root file system did not grow"
}

# RDMA pins memory, and pods inherit the limit of what starts them.
unlock_memory() {
    local service folder
    for service in containerd crio kubelet; do
        folder=$ROOT/etc/systemd/system/$service.service.d
        mkdir -p "$folder" && printf '[Service]\nLimitMEMLOCK=infinity\n' >"$folder/90-gpu-fabric.conf"
    done
    systemctl daemon-reload || say "systemd was not reloaded"
}

read_cluster() { wants API_HOST apiserver_host && wants AUTHORITY cluster_ca_cert; }

# Where the image's own tools look for them.
write_cluster() {
    mkdir -p "$ROOT/etc/oke" "$ROOT/etc/kubernetes"
    printf '%s' "$API_HOST" >"$ROOT/etc/oke/oke-apiserver"
    base64 -d <<<"$AUTHORITY" >"$ROOT/etc/kubernetes/ca.crt"
}

# Ubuntu images have `oke`, Oracle Linux images the installer or a service around it.
join_by_image() {
    local extra=()
    [[ -z $KUBELET_EXTRA_ARGS ]] || extra=(--kubelet-extra-args "$KUBELET_EXTRA_ARGS")
    if command -v oke >/dev/null; then
        oke bootstrap --apiserver-host "$API_HOST" --ca "$AUTHORITY" "${extra[@]}"
    elif [[ -f $ROOT/etc/oke/oke-install.sh ]]; then
        bash "$ROOT/etc/oke/oke-install.sh" --apiserver-endpoint "$API_HOST" --kubelet-ca-cert "$AUTHORITY" "${extra[@]}"
    elif [[ -f $ROOT/etc/systemd/system/oke-init.service && -z $KUBELET_EXTRA_ARGS ]]; then
        systemctl --no-block enable --now oke-init.service
    else
        join_by_metadata
    fi
}

join_by_metadata() {
    local script extra=()
    wants script oke_init_script || { say "neither the image nor the metadata has what joins"; return 1; }
    [[ -z $KUBELET_EXTRA_ARGS ]] || extra=(--kubelet-extra-args "$KUBELET_EXTRA_ARGS")
    mkdir -p "$ROOT/var/run"
    base64 -d <<<"$script" >"$ROOT/var/run/oke-init.sh" && bash "$ROOT/var/run/oke-init.sh" "${extra[@]}"
}

main() {
    step beforeJoin "$BEFORE_JOIN"
    grow_root
    unlock_memory
    if [[ $MODE == managed ]]; then
        again join_by_metadata || return
    else
        again read_cluster || { say "no address or authority of the API server"; return 1; }
        write_cluster
        again join_by_image || return
    fi
    say "joined"
    step afterJoin "$AFTER_JOIN"
}

main
