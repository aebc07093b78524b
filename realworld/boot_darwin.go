package realworld

import (
	"sync"
	"syscall"
)

// bootID names the running kernel: processes with the same one share its locks.
var bootID = sync.OnceValue(func() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
})
