//go:build unix

package proc

import (
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"github.com/quiesce/quiesce/realworld/internal/tree"
)

// init turns a program that was started as a shim into one. main is never reached.
func init() {
	if os.Args[0] == shimName {
		os.Exit(runShim(os.Args[1:]))
	}
}

// runShim starts the child that args describe, carries out orders, and ends when everything is
// gone. It runs on the main thread, which lives as long as the process: the child dies with
// it.
func runShim(args []string) int {
	runtime.LockOSThread()
	// Whoever wants the child to end tells the worker, or the child. A shim that dies first
	// leaves descendants that nobody finds.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE)
	held, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	for fd := fdOrders; fd < fdHeld+held; fd++ {
		syscall.CloseOnExec(fd) // the child has no part in them
	}
	reports := json.NewEncoder(os.NewFile(fdReports, "reports"))
	orders := os.NewFile(fdOrders, "orders")

	group := newCgroup()
	// Before there is anybody in it: who kills this process now leaves the rest to the worker.
	_ = reports.Encode(report{Cgroup: group.path()})
	t, err := tree.Start(tree.Spec{
		Path: args[1], Args: args[2:], Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Orphaned: syscall.SIGKILL, Cgroup: group.dir(),
	})
	if err != nil {
		group.remove()
		var errno syscall.Errno
		errors.As(err, &errno)
		_ = reports.Encode(report{Errno: int(errno), Error: err.Error()})
		return 0
	}
	letGo()
	_ = reports.Encode(report{PID: t.PID()})
	go func() {
		order := make([]byte, 1)
		for {
			if _, err := orders.Read(order); err != nil { // the worker is dead
				group.kill()
				t.Kill()
				return
			}
			switch order[0] {
			case orderTerminate:
				_ = t.SignalGroup(syscall.SIGTERM)
			case orderKill:
				group.kill()
				t.Kill()
			}
		}
	}()
	status, _ := t.Wait()
	group.kill()
	_ = t.Clear(nil) // without end: as long as something is left, this process answers for it
	group.remove()
	last := report{Ended: true, Status: status.ExitStatus()}
	if status.Signaled() {
		last.Signal = status.Signal().String()
	}
	_ = reports.Encode(last)
	return 0
}

// letGo gives up the child's standard files, so that whoever reads its output sees it end.
func letGo() {
	for fd := range 3 {
		_ = syscall.Close(fd)
		_, _ = syscall.Open(os.DevNull, syscall.O_RDWR, 0) // takes the number that is free now
	}
}
