//go:build amd64 || arm64

package prefetch

import "unsafe"

// lines has every line of 64 bytes fetched from that of first to that of last.
//
//go:noescape
func lines(first, last unsafe.Pointer)
