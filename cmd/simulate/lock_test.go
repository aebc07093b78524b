//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The file is removed whenever somebody is done, under the eyes of those who have it open.
func TestALockWhoseFileComesAndGoesIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for done := 0; done < 50; {
				unlock, err := lock(path)
				if errors.Is(err, errLocked) {
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				ok := assert.EqualValues(t, 1, holders.Add(1), "holders")
				for range 20 {
					runtime.Gosched() // to those who would be let in as well
				}
				holders.Add(-1)
				unlock()
				if !ok {
					return
				}
				done++
			}
		})
	}
	all.Wait()
	assert.NoFileExists(t, path)
}

func TestALockEndsWithItsProcess(t *testing.T) {
	scenario, dir := small(t), t.TempDir()
	file := filepath.Join(dir, "rows.jsonl")
	first := exec.Command(os.Args[0], "compare", scenario, "--seeds", "5000", "--quiet", "--out", dir)
	first.Env = append(os.Environ(), roleVar+"=simulate")
	first.Stderr = os.Stderr
	require.NoError(t, first.Start())
	end := sync.OnceFunc(func() { _ = first.Process.Kill(); _ = first.Wait() })
	t.Cleanup(end)
	require.Eventually(t, func() bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() > 0
	}, time.Minute, 5*time.Millisecond, "it kept nothing")

	again := []string{"compare", scenario, "--seeds", "1", "--quiet", "--out", dir}
	r := invoke(t.Context(), again...)
	assert.Equal(t, exitMisuse, r.status)
	assert.Contains(t, r.stderr, file+" is being written by another process")
	end()
	succeed(t, again...)
	assert.Equal(t, []string{"compare.csv", "compare.json", "compare.txt"}, names(t, dir))
}
