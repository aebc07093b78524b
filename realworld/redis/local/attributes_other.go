//go:build !unix

package local

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
