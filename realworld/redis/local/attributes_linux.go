package local

import "syscall"

// attributes let the server end with this process, and keep the terminal's ^C from it: who is
// told to stop by that needs the server until it has stopped.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
