module smarter.test/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/kedacore/keda/v2 v2.21.0
	sigs.k8s.io/gateway-api v1.6.3
)
