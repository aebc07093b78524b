package main

import "syscall"

// withParent has a child get a signal when the thread that started it ends: see launch.Start.
func withParent(signal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: signal}
}
