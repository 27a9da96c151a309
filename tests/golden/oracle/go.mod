module oracle

go 1.26

require (
	gopkg.in/yaml.v2 v2.3.0
	sigs.k8s.io/yaml v1.2.0
)
