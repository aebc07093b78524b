//go:build unix

package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"github.com/quiesce/quiesce/realworld/internal/kin"
)

// child is a started shim with what it has started.
type child struct {
	pid     int
	cgroup  string
	shim    *exec.Cmd
	reports *json.Decoder
	report  io.Closer

	mu     sync.Mutex
	orders *os.File // nil when there is nobody to take them
}

// start starts the shim and waits until it says that the child runs.
func start(c *Cmd) (*child, error) {
	self, err := executable()
	if err != nil {
		return nil, err
	}
	ordersOut, ordersIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ordersOut.Close()
	reportsOut, reportsIn, err := os.Pipe()
	if err != nil {
		ordersIn.Close()
		return nil, err
	}
	defer reportsIn.Close()
	held := kin.Files()
	shim := &exec.Cmd{
		Path: self, Args: append([]string{shimName, strconv.Itoa(len(held)), c.Path}, c.Args...),
		Dir: c.Dir, Env: c.Env, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		ExtraFiles: append([]*os.File{ordersOut, reportsIn}, held...),
		// Not in the worker's group: a terminal's Ctrl-C is for the worker.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	ch := &child{shim: shim, orders: ordersIn, reports: json.NewDecoder(reportsOut), report: reportsOut}
	if err := shim.Start(); err != nil {
		ordersIn.Close()
		reportsOut.Close()
		return nil, fmt.Errorf("start the shim of %s: %w", c.Path, err)
	}
	reportsIn.Close() // the shim has it alone now, so that its end is seen
	var before, first report
	if err = ch.reports.Decode(&before); err == nil {
		err = ch.reports.Decode(&first)
	}
	ch.cgroup = before.Cgroup
	switch {
	case err != nil:
		killCgroup(ch.cgroup) // it may have got as far as the child, which has died with it
		err = fmt.Errorf("the shim of %s ended before it said that it had started it: %w", c.Path, err)
	case first.Errno != 0:
		err = &os.PathError{Op: "start", Path: c.Path, Err: syscall.Errno(first.Errno)}
	case first.Error != "":
		err = fmt.Errorf("start %s: %s", c.Path, first.Error)
	}
	if err != nil {
		ch.close()
		_ = shim.Wait()
		removeCgroup(ch.cgroup)
		return nil, err
	}
	ch.pid = first.PID
	return ch, nil
}

// executable is this program's file, on Linux also when a deploy has replaced it.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// wait returns when everything is gone.
func (ch *child) wait() result {
	var last report
	err := ch.reports.Decode(&last)
	if err != nil || !last.Ended {
		// The shim was killed. The child has died with it; its group, and its control group if
		// there is one, are what is known of the rest.
		_ = syscall.Kill(-ch.pid, syscall.SIGKILL)
		killCgroup(ch.cgroup)
		_ = ch.shim.Wait()
		removeCgroup(ch.cgroup)
		ch.close()
		return result{status: -1, err: errors.New("proc: the shim was killed, and the child with it")}
	}
	ch.close()
	_ = ch.shim.Wait() // it has said all there is to know
	return result{status: last.Status, signal: last.Signal}
}

func (ch *child) close() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.orders.Close()
	ch.report.Close()
	ch.orders = nil
}

func (ch *child) terminate() { ch.order(orderTerminate) }
func (ch *child) kill()      { ch.order(orderKill) }

func (ch *child) order(o byte) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.orders != nil {
		_, _ = ch.orders.Write([]byte{o}) // it fails only when the shim is gone, and all with it
	}
}
