package proc_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// delegatedCgroup makes a control group and marks it as systemd does with Delegate=yes.
func delegatedCgroup(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount the control groups; run the test as root, or in a container that may")
	}
	mount := t.TempDir()
	if err := syscall.Mount("none", mount, "cgroup2", 0, ""); err != nil {
		t.Skipf("the control groups of version 2 cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(mount, syscall.MNT_DETACH)) })
	group := filepath.Join(mount, "quiesce-test-"+strconv.Itoa(os.Getpid()))
	require.NoError(t, os.Mkdir(group, 0o755))
	t.Cleanup(func() { assert.NoError(t, os.Remove(group), "groups of children are left in it") })
	if _, err := os.Stat(filepath.Join(group, "cgroup.kill")); err != nil {
		t.Skip("this kernel cannot kill a control group; it takes Linux 5.14")
	}
	require.NoError(t, syscall.Setxattr(group, "trusted.delegate", []byte("1"), 0))
	return group
}

// The named limit, and what lifts it: with the shim killed only the control group finds what
// has left the child's session.
func TestAControlGroupFindsWhoLeftTheSession(t *testing.T) {
	needSetsid(t)
	group := delegatedCgroup(t)
	worker, out := startWorker(t, `(setsid sh -c 'trap "" TERM HUP; sleep 1000; sleep 1000' &); echo $PPID; sleep 1000; sleep 1000`, "CGROUP="+group)
	shim, err := strconv.Atoi(out.next())
	require.NoError(t, err)
	groups, err := filepath.Glob(filepath.Join(group, "quiesce-*"))
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.NoError(t, syscall.Kill(shim, syscall.SIGKILL))
	assert.Subset(t, []string{
		"proc: the shim was killed, and the child with it",
		"proc: the shim of /usr/bin/sh ended before it said that it had started it: EOF", // the child was quicker to say so
	}, out.rest())
	require.NoError(t, worker.Wait())
	assert.NoDirExists(t, groups[0])
}
