//go:build unix && !linux

package local

import "syscall"

// attributes keep the terminal's ^C from the server: who is told to stop by that needs it
// until it has stopped.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
