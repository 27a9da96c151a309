#!/bin/sh
# Prepares the cluster of docker-compose.yml; runs inside, may run again. Kubeconfigs come from
# $KUBECONFIGS, everything else lies beside this file.
set -eu

here=$(dirname "$0")
kubeconfigs=${KUBECONFIGS:-/kubeconfigs}
server=${SERVER:-https://k3s:6443}
export KUBECONFIG=$kubeconfigs/admin.yaml

# identity NAME SERVER [USER]: a kubeconfig that acts as that user, with the user's rights alone.
identity() {
    sed -e "s#^\( *server:\).*#\1 $2#" ${3:+-e "s#^\( *\)client-certificate-data:.*#\1as: $3\n&#"} \
        "$kubeconfigs/k3s.yaml" >"$kubeconfigs/$1.yaml"
    chmod 644 "$kubeconfigs/$1.yaml"
}

identity admin "$server"
identity webhook "$server" kudo-webhook
identity reconciler "$server" kudo-reconciler
identity user https://127.0.0.1:6443 kudo-user

kubectl apply --server-side --force-conflicts -f "$here/crds" -f "$here/rbac.yaml" \
    -f "$here/chart-rbac.yaml"

# The webhook writes the caBundle by itself, which is why the field is left out here.
sed -e 's#\${URL}#https://kudo-webhook.kudo-system.svc:9443#' -e 's#\${RECONCILER}#kudo-reconciler#' \
    -e '/\${CA_BUNDLE}/d' "$here/webhooks.yaml" | kubectl apply --server-side --force-conflicts -f -
