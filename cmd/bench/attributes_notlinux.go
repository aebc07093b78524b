//go:build !linux

package main

import "syscall"

// withParent is not to be had here: children of a killed process live on.
func withParent(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
