//go:build unix && !linux

package tree

import "syscall"

func becomeReaper() error { return nil }

func bind(*syscall.SysProcAttr, Spec) {}

// killGroup kills what is left of the root's process group. The root is reaped by now; its
// number stays taken for as long as somebody is left.
func killGroup(root int) { _ = syscall.Kill(-root, syscall.SIGKILL) }

// killDescendants: orphans are not this process's here, so there is nobody to be found.
func killDescendants() {}
