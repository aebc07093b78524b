package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// args reads the arguments of a step.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) text(key string) string {
	for _, arg := range a.d.CmdArgs {
		if arg.Key == key && len(arg.Vals) == 1 {
			return arg.Vals[0]
		}
	}
	return ""
}

func (a args) number(key string, otherwise int) int {
	text := a.text(key)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(a.t, err, "%s: %s", a.d.Pos, key)
	return n
}

func (a args) duration(key string) Duration {
	text := a.text(key)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	require.NoError(a.t, err, "%s: %s", a.d.Pos, key)
	return Duration(d)
}

func (a args) instant(key string) (Instant, bool) {
	return Instant(a.duration(key)), a.text(key) != ""
}

func (a args) kind() KindConfig {
	k := KindConfig{MinVersion: 1, MaxVersion: 3, Gap: a.duration("gap"), Undo: a.duration("undo"), Timeout: a.duration("timeout")}
	if lo, hi, ok := strings.Cut(a.text("versions"), "-"); ok {
		_, err := fmt.Sscan(lo+" "+hi, &k.MinVersion, &k.MaxVersion)
		require.NoError(a.t, err, "%s: versions", a.d.Pos)
	}
	return k
}

// config reads a worker; its policy is written with the words of the rules.
func (a args) config() Config {
	pick := func(key string, words ...string) uint8 {
		for i, w := range words {
			if a.text(key) == w {
				return uint8(i)
			}
		}
		require.Empty(a.t, a.text(key), "%s: %s is none of %q", a.d.Pos, key, words)
		return 0
	}
	return Config{
		Queues: a.number("queues", 0), Lease: a.duration("lease"), Heartbeat: a.duration("heartbeat"),
		Margin: a.duration("margin"), DriftPPM: int64(a.number("drift-ppm", 0)), Park: a.duration("park"),
		Grace: a.duration("grace"), Reserve: a.duration("reserve"), NoWithdraw: a.d.HasArg("no-withdraw"),
		SettlesFirst: a.d.HasArg("settles-first"),
		Policy: Policy{
			OnStop:     OnStop(pick("on-stop", "finish", "cancel", "die", "ignore")),
			LateClaim:  LateClaim(pick("late-claim", "return", "run", "run-if-short")),
			Deadline:   DeadlineFrom(pick("deadline", "budget", "none", "constant")),
			Constant:   a.duration("constant"),
			AtDeadline: AtDeadline(pick("at-deadline", "release", "die")),
			Estimates:  Estimates(pick("estimates", "off", "adaptive")),
		},
	}
}

// code reads the bare word of a step: what came back.
func (a args) code() Code {
	words := map[string]Code{"error": ReturnedError}
	for c := OK; c < codes; c++ {
		words[c.String()] = c
	}
	if a.d.Cmd == "undone" {
		words["ok"], words["failed"] = UndoDone, UndoFailed
	}
	for _, arg := range a.d.CmdArgs {
		if c, ok := words[arg.Key]; ok && len(arg.Vals) == 0 {
			return c
		}
	}
	return NoCode
}

func (a args) stop(killAt Instant) Event {
	switch a.text("signal") {
	case "SIGTERM":
		return StopBySignal(SIGTERM, killAt)
	case "SIGINT":
		return StopBySignal(SIGINT, killAt)
	}
	for s := FromNotice; s < sources; s++ {
		if a.text("from") == s.String() {
			return StopFrom(s, killAt)
		}
	}
	a.t.Fatalf("%s: a stop needs signal= or from=", a.d.Pos)
	return Event{}
}
