package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCommandSleep(t *testing.T) {
	const exactly, atLeast, unknown = "exactly", "at least", "unknown"
	for _, c := range []struct {
		name  string
		words []string
		want  time.Duration
		how   string
	}{
		{"sleep itself", []string{"sleep", "60"}, 60 * time.Second, exactly},
		{"sleep by its path", []string{"/bin/sleep", "1.5"}, 1500 * time.Millisecond, exactly},
		{"sleep with units adds up", []string{"sleep", "1m", "30s"}, 90 * time.Second, exactly},
		{"sleep of nothing", []string{"sleep", "0"}, 0, exactly},
		{"sleep without end", []string{"sleep", "infinity"}, 0, unknown},
		{"sleep below zero", []string{"sleep", "-5"}, 0, unknown},
		{"sleep of centuries", []string{"sleep", "99999999999999"}, 0, unknown},
		{"sleep without an operand", []string{"sleep"}, 0, unknown},
		{"one word with a space is no command", []string{"sleep 60"}, 0, unknown},
		{"no words", nil, 0, unknown},
		{"another program", []string{"nginx", "-s", "quit"}, 0, unknown},

		{"a shell", []string{"/bin/sh", "-c", "sleep 60"}, 60 * time.Second, exactly},
		{"a shell with more flags", []string{"bash", "-e", "-lc", "sleep 60"}, 60 * time.Second, exactly},
		{"a shell that gets a file", []string{"sh", "/sleep.sh", "60"}, 0, unknown},
		{"a shell whose script is the bare word", []string{"sh", "-c", "sleep", "60"}, 0, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, known, more := commandSleep(c.words)
			assert.Equal(t, c.want, d)
			assert.Equal(t, c.how != unknown, known, "known")
			assert.Equal(t, c.how == atLeast, more, "at least")
		})
	}
}

func TestScriptSleep(t *testing.T) {
	for _, c := range []struct {
		name, script string
		seconds      float64
		atLeast      bool
	}{
		{"sleep first", "sleep 5; something", 5, true},
		{"sleep last", "nginx -s quit; sleep 5", 5, true},
		{"two sleeps", "sleep 5; sleep 2.5", 7.5, false},
		{"joined by &&", "sleep 5 && kill 1 && sleep 1", 6, true},
		{"behind || is not certain", "true || sleep 5", 0, false},
		{"after an || it is", "touch x || true; sleep 5", 5, true},
		{"several lines", "set -e\nsleep 5\n# sleep 9\nsleep 1 # wait\n", 6, true},
		{"in the background", "sleep 5 & drain", 0, false},
		{"the background ends", "drain & sleep 5", 5, true},
		{"in brackets", "(echo '{\"a\": 1}'; touch /tmp/x || true; sleep 20; echo b) > /proc/1/fd/1", 20, true},
		{"brackets in the background", "(sleep 5) & true", 0, false},
		{"brackets left open", "(sleep 5", 0, false},
		{"in a pipe", "sleep 5 | cat", 0, false},
		{"with its output away", "sleep 5 >/dev/null 2>&1", 5, false},
		{"with its output to another word", "sleep 5 > /dev/null", 5, false},
		{"by exec, and nothing after it", "exec sleep 5; sleep 9", 5, false},
		{"before an exit", "sleep 5; exit 0; sleep 9", 5, true},
		{"in quotes it is no command", "echo 'a; sleep 5'", 0, false},
		{"in a substitution it is no command", "echo $(date; sleep 5) `sleep 4`", 0, false},
		{"of a variable", "sleep ${DELAY:-10}", 0, false},
		{"of a word in quotes", `sleep "7"`, 7, false},
		{"in a loop", "while true; do sleep 5; done", 0, false},
		{"before a loop", "sleep 5\nwhile pgrep x; do sleep 1; done", 5, true},
		{"in a condition", "if true; then sleep 5; fi", 0, false},
		{"far too deep", strings.Repeat("(", 100) + "sleep 5" + strings.Repeat(")", 100), 0, false},
		{"nothing", "", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, known, more := commandSleep([]string{"sh", "-c", c.script})
			assert.Equal(t, time.Duration(c.seconds*float64(time.Second)), d)
			assert.Equal(t, c.seconds > 0, known, "known")
			assert.Equal(t, c.atLeast, more, "at least")
		})
	}
}
