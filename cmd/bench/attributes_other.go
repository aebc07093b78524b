//go:build !unix

package main

import "syscall"

// notAsRoot has nothing to do here.
func notAsRoot(string) (*syscall.SysProcAttr, error) { return withParent(syscall.SIGTERM), nil }
