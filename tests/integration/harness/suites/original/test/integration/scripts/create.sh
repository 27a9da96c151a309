set -e
kubectl create configmap "$1" --from-literal=ok=true --namespace "$NAMESPACE"
