package worker

import (
	"syscall"
	"time"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of clock_gettime(2): monotonic, and counting while the
// machine is suspended.
const clockBoottime = 7

// bootTime does not block, so the runtime need not be told of the call.
func bootTime() time.Duration {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return sinceStart()
	}
	return time.Duration(ts.Nano())
}
