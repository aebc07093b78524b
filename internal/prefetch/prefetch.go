// Package prefetch tells the processor which memory will be read soon, so that it is not waited
// for when its time comes. It changes nothing that a program can see. Nothing is read: it does not
// matter whether a value is there.
package prefetch

import "unsafe"

// All has the memory of a value fetched.
func All[T any](p *T) { First(p, unsafe.Sizeof(*p)) }

// First has the first bytes of a value fetched, of which there is at least one.
//
//go:nocheckptr
func First[T any](p *T, bytes uintptr) {
	lines(unsafe.Pointer(p), unsafe.Add(unsafe.Pointer(p), bytes-1))
}
