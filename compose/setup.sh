#!/bin/sh
# Prepares the cluster of docker-compose.yml; runs inside, may run again. Kubeconfigs come from
# $KUBECONFIGS, everything else lies beside this file.
set -eu

here=$(dirname "$0")
kubeconfigs=${KUBECONFIGS:-/kubeconfigs}
server=${SERVER:-https://k3s:6443}
export KUBECONFIG=$kubeconfigs/admin.yaml

# kubeconfig NAME SERVER EXPRESSION: that of k3s, with other credentials.
kubeconfig() {
    mkdir -p "$(dirname "$kubeconfigs/$1")"
    sed -e "s#^\( *server:\).*#\1 $2#" -e "$3" "$kubeconfigs/k3s.yaml" >"$kubeconfigs/$1.yaml"
    chmod 644 "$kubeconfigs/$1.yaml"
}

# account NAME: the kubeconfig of a service, alone in a folder, with a token that has its rights only.
account() {
    kubectl create serviceaccount "$1" --namespace=kudo-system --dry-run=client --output=yaml |
        kubectl apply --server-side --force-conflicts -f -
    token=$(kubectl create token "$1" --namespace=kudo-system --duration=8760h)
    kubeconfig "$1/kubeconfig" "$server" \
        "/client-key-data:/d;s#^\( *\)client-certificate-data:.*#\1token: $token#"
}

kubeconfig admin "$server" ""
kubeconfig user https://127.0.0.1:6443 "s#^\( *\)client-certificate-data:.*#\1as: kudo-user\n&#"

# The roles are bound to users; here the services are accounts.
sed -e '/^- apiGroup: rbac.authorization.k8s.io$/{' -e N \
    -e 's#.*kind: User#- kind: ServiceAccount\n  namespace: kudo-system#' -e '}' \
    "$here/chart-rbac.yaml" >"$kubeconfigs/rights.yaml"
kubectl apply --server-side --force-conflicts -f "$here/crds" -f "$here/rbac.yaml"
kubectl apply --server-side --force-conflicts -f "$kubeconfigs/rights.yaml"
account kudo-webhook
account kudo-reconciler

# For the digests of Secrets in Inventories; made once.
key=$kubeconfigs/kudo-reconciler/digest-key
[ -s "$key" ] || head -c 32 /dev/urandom >"$key"
chmod 644 "$key"

reconciler=system:serviceaccount:kudo-system:kudo-reconciler
sed -e "s#\${RECONCILER}#$reconciler#" "$here/inventories-policy.yaml" |
    kubectl apply --server-side --force-conflicts -f -

# The webhook writes the caBundle by itself, which is why the field is left out here.
sed -e 's#\${URL}#https://kudo-webhook.kudo-system.svc:9443#' -e '/\${CA_BUNDLE}/d' \
    -e "s#\${RECONCILER}#$reconciler#" \
    "$here/webhooks.yaml" | kubectl apply --server-side --force-conflicts -f -
