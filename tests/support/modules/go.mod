// Where tests get the CRDs of others from. Nothing is built.
module kudo.dev/tests/modules

go 1.26

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
