//go:build unix

package realworld_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/realworld"
)

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.Process.Signal(s))
}

// ready asks /readyz.
func (p *process) ready() (ready, draining bool, left float64) {
	p.t.Helper()
	var a struct {
		Ready       bool    `json:"ready"`
		Draining    bool    `json:"draining"`
		SecondsLeft float64 `json:"seconds_left"`
	}
	text, err := p.ask("/readyz")
	require.NoError(p.t, json.Unmarshal([]byte(text), &a), "%s %v", text, err)
	assert.Equal(p.t, a.Ready, err == nil, "the status says the same")
	return a.Ready, a.Draining, a.SecondsLeft
}

func TestSIGTERMLetsTheJobFinish(t *testing.T) {
	p := startProcess(t)
	p.expect("started 1")
	ready, draining, _ := p.ready()
	assert.True(t, ready)
	assert.False(t, draining)

	p.signal(syscall.SIGTERM)
	p.expect("heard StopAsked signal SIGTERM", "going")
	ready, draining, left := p.ready()
	assert.False(t, ready)
	assert.True(t, draining)
	assert.InDelta(t, 60, left, 30)
	_, err := p.ask("/healthz")
	assert.NoError(t, err, "a drain is no illness")

	p.finish()
	assert.Equal(t, []string{"ack 1"}, p.rest())
	assert.Equal(t, 0, p.status())
}

func TestAPreStopCallFollowedBySIGTERMDoesNotHurry(t *testing.T) {
	p := startProcess(t)
	p.expect("started 1")
	answered := make(chan string, 1)
	go func() {
		text, err := p.ask("/prestop")
		if err != nil {
			text = err.Error()
		}
		answered <- text
	}()
	p.expect("heard StopAsked notice")
	p.signal(syscall.SIGTERM)
	p.expect("heard StopAsked signal SIGTERM")
	p.signal(syscall.SIGTERM) // platforms repeat it
	p.expect("heard StopAsked signal SIGTERM")
	select {
	case text := <-answered:
		t.Fatalf("the hook was over before the drain: %s", text)
	default:
	}
	p.finish()
	assert.Equal(t, []string{"ack 1"}, p.rest())
	assert.Equal(t, `{"at_rest":true,"status":0}`, <-answered)
	assert.Equal(t, 0, p.status())
}

func TestTheDrainGoesOnWhenThePreStopCallerHangsUp(t *testing.T) {
	p := startProcess(t)
	p.expect("started 1")
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := realworld.Ask(ctx, "unix:"+p.socket, "/prestop?kill_after=40s")
		ended <- err
	}()
	p.expect("heard StopAsked notice")
	hangUp()
	require.ErrorIs(t, <-ended, context.Canceled)
	_, draining, left := p.ready()
	assert.True(t, draining)
	assert.InDelta(t, 20, left, 20, "the caller knew when SIGKILL comes")
	p.finish()
	assert.Equal(t, 0, p.status())
}

// systemd sends SIGCONT after SIGTERM, to wake who is stopped.
func TestSIGCONTAfterSIGTERMDoesNotResume(t *testing.T) {
	p := startProcess(t)
	p.expect("started 1")
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
	p.expect("heard StopAsked signal SIGTERM", "heard ResumeAsked")
	ready, draining, _ := p.ready()
	assert.False(t, ready)
	assert.True(t, draining)
	p.finish()
	rest := p.rest()
	assert.Contains(t, rest, "ack 1")
	assert.NotContains(t, strings.Join(rest, "\n"), "started", "the second job was not claimed")
	assert.Equal(t, 0, p.status())
}

func TestQuietAndItsEnd(t *testing.T) {
	p := startProcess(t)
	p.expect("started 1")
	ask := func(path string) func() {
		return func() { _, err := p.ask(path); require.NoError(t, err) }
	}
	send := func(s syscall.Signal) func() { return func() { p.signal(s) } }
	for _, c := range []struct{ quiet, resume func() }{
		{send(syscall.SIGTSTP), send(syscall.SIGCONT)},
		{send(syscall.SIGUSR1), ask("/resume")},
		{ask("/quiet"), send(syscall.SIGCONT)},
	} {
		c.quiet()
		p.expect("heard QuietAsked")
		ready, draining, _ := p.ready()
		assert.False(t, ready)
		assert.False(t, draining)
		_, err := p.ask("/healthz")
		assert.NoError(t, err)

		c.resume()
		p.expect("heard ResumeAsked")
		ready, _, _ = p.ready()
		assert.True(t, ready)
	}
	p.finish()
	p.expect("ack 1", "started 2")
}

func TestSIGINTTwiceHurries(t *testing.T) {
	p := startProcess(t)
	p.expect("started 1")
	p.signal(syscall.SIGINT)
	p.expect("heard StopAsked signal SIGINT")
	p.signal(syscall.SIGINT)
	p.expect("cancelled: worker: the drain was told to hurry")
	assert.Equal(t, 0, p.status())
}

// The socket of a killed worker does not keep the next one from starting.
func TestASocketOfADeadProcessIsReplaced(t *testing.T) {
	p := startProcess(t)
	p.expect("started 1")
	require.NoError(t, p.Process.Kill())
	_ = p.Wait()
	require.FileExists(t, p.socket)

	second := startProcess(t, "SOCKET="+p.socket)
	second.expect("started 1")
	third := startProcess(t, "SOCKET="+p.socket)
	third.expect("realworld: listen unix " + p.socket + ": bind: address already in use")
	assert.Equal(t, 2, third.status(), "nobody listens twice")
}

func TestSystemdIsToldAndAskedForMore(t *testing.T) {
	sockets := map[string]string{"in a file": filepath.Join(shortDir(t), "notify")}
	if runtime.GOOS == "linux" {
		sockets["abstract"] = fmt.Sprintf("@quiesce-test-%d", os.Getpid())
	}
	for name, socket := range sockets {
		t.Run(name, func(t *testing.T) {
			systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
			require.NoError(t, err)
			defer systemd.Close()
			require.NoError(t, systemd.SetReadDeadline(time.Now().Add(10*time.Second)))
			heard := func(beginning string) string {
				for message := make([]byte, 4096); ; {
					n, err := systemd.Read(message)
					require.NoError(t, err, "before %s", beginning)
					for _, line := range strings.Split(string(message[:n]), "\n") {
						if strings.HasPrefix(line, beginning) {
							return line
						}
					}
				}
			}
			// The drain may last two minutes although the grace is one.
			p := startProcess(t, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=20000", "EXTEND=2m")
			p.expect("started 1")
			heard("READY=1")
			heard("WATCHDOG=1")
			heard("WATCHDOG=1")
			p.signal(syscall.SIGTERM)
			heard("STOPPING=1")
			assert.Equal(t, "EXTEND_TIMEOUT_USEC=5000000", heard("EXTEND_TIMEOUT_USEC="))
			heard("EXTEND_TIMEOUT_USEC=")
			heard("WATCHDOG=1")
			_, _, left := p.ready()
			assert.InDelta(t, 120, left, 30)
			p.finish()
			assert.Equal(t, 0, p.status())
		})
	}
}
