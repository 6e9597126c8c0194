//go:build tools

// Package tools pins the modules whose CRDs the test control plane installs; nothing of them is compiled.
package tools

import (
	_ "github.com/cert-manager/cert-manager/deploy/crds"
	_ "github.com/kedacore/keda/v2/config/crd/bases"
	_ "sigs.k8s.io/gateway-api/config/crd/standard"
)
