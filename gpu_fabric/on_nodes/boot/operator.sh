# Gives the operator host its kubeconfig, as cloud-init's user data, at its first start. The image brings the OCI
# command line, kubectl and Helm. The host signs in as itself, which the policy for it allows.
#
#   LOGIN   whom the image lets in by SSH
#   REGION  the cluster's region
#
# The metadata key cluster_id names the cluster. Exit status 1 where there is no kubeconfig in the end.

make_kubeconfig() {
    local file=$ROOT/home/$LOGIN/.kube/config
    mkdir -p "${file%/*}"
    oci ce cluster create-kubeconfig --auth instance_principal --cluster-id "$CLUSTER" --region "$REGION" \
        --file "$file" --token-version 2.0.0 --kube-endpoint PRIVATE_ENDPOINT &&
        chmod 600 "$file" && chown -R "$LOGIN" "${file%/*}"
}

main() {
    command -v oci >/dev/null || { say "the image has no oci command"; return 1; }
    again wants CLUSTER cluster_id || { say "the metadata names no cluster"; return 1; }
    mkdir -p "$ROOT/etc/profile.d"
    printf 'export OCI_CLI_AUTH=instance_principal\n' >"$ROOT/etc/profile.d/gpu-fabric.sh"
    again make_kubeconfig && say "kubeconfig written"
}

main
