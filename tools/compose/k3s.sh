#!/bin/sh
# Stands for `k3s server`: the control plane of kudo-cluster with a simulated node. Credentials and
# command lines lie in /cluster, the state is where k3s keeps its own.
set -eu

for option; do
    case $option in
        --write-kubeconfig=*) kubeconfig=${option#*=} ;;
        --write-kubeconfig-mode=*) mode=${option#*=} ;;
    esac
done

# start NAME: a component, as its file says.
start() {
    # shellcheck disable=SC2046 # the file is a list of words
    set -- $(cat "/cluster/commands/$1")
    "$@" &
    running="$running $!"
}
running=
# shellcheck disable=SC2086 # a list of numbers
trap 'trap "" TERM; kill $running 2>/dev/null; wait; exit 0' TERM INT

mkdir -p /var/lib/rancher/k3s
start etcd
start kube-apiserver
server=$!
cp /cluster/k3s.yaml "$kubeconfig.new"
chmod "$mode" "$kubeconfig.new"
mv "$kubeconfig.new" "$kubeconfig"

export KUBECONFIG=/cluster/k3s.yaml
until kubectl get --raw=/readyz >/dev/null 2>&1; do
    kill -0 "$server"
    sleep 1 &
    wait $!
done
start kube-controller-manager
start kube-scheduler
start kwok
kubectl apply --server-side --filename=/cluster/node.yaml
wait "$server"
