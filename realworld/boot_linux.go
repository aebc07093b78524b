package realworld

import (
	"os"
	"strings"
	"sync"
)

// bootID names the running kernel: processes with the same one share its locks.
var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
})
