//go:build tools

// Package tools names the program that the test control plane builds from this module.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
