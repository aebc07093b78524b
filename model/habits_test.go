package model

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryKindOfSupervisorIsKnownByItsName(t *testing.T) {
	for _, name := range SupervisorNames() {
		kind, ok := SupervisorNamed(name)
		assert.True(t, ok, name)
		assert.Equal(t, name, kind.String())
		h := kind.Habits()
		assert.LessOrEqual(t, h.Least, h.Grace, name)
		assert.LessOrEqual(t, h.Grace, h.Most, name)
	}
	_, ok := SupervisorNamed("runit")
	assert.False(t, ok)
}

func TestEveryStopSignalIsKnownByItsName(t *testing.T) {
	for _, s := range stopSignals {
		assert.Equal(t, s.signal, SignalNamed(s.name))
		assert.Equal(t, s.name, SignalName(s.signal))
	}
	assert.Zero(t, SignalNamed("SIGRTMIN+3"))
	assert.Equal(t, "signal 37", SignalName(37))
}

// spoken writes a duration as the documentation does.
func spoken(d protocol.Duration) string {
	if d >= 2*protocol.Minute {
		return fmt.Sprintf("%d min", d/protocol.Minute)
	}
	return fmt.Sprintf("%d s", d/protocol.Second)
}

func TestTheDocumentationHasTheHabitsOfEveryKind(t *testing.T) {
	text, err := os.ReadFile("../docs/supervisors.md")
	require.NoError(t, err)
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); len(cells) == 6 && strings.HasPrefix(line, "| `") {
			name, _, _ := strings.Cut(strings.TrimPrefix(cells[0], "| `"), "`")
			rows[name] = cells
		}
	}
	for i := range supervisorHabits {
		h := &supervisorHabits[i]
		limits := "–"
		switch {
		case h.Fixed():
			limits = "fixed"
		case h.Most != protocol.Forever && h.Least > 0:
			limits = spoken(h.Least) + " to " + spoken(h.Most)
		case h.Most != protocol.Forever:
			limits = "at most " + spoken(h.Most)
		case h.Least > 0:
			limits = "at least " + spoken(h.Least)
		}
		require.Contains(t, rows, h.Name)
		cells := rows[h.Name]
		assert.Equal(t, spoken(h.Grace), cells[1], h.Name)
		assert.True(t, strings.HasPrefix(cells[2], limits), "%s: %s is documented as %s", h.Name, limits, cells[2])
		assert.Equal(t, h.Signal.String(), cells[3], h.Name)
		assert.True(t, h.Before == "" && cells[4] == "–" || h.Before != "" && strings.HasPrefix(cells[4], "`"+h.Before+"`"), h.Name)
		assert.Equal(t, h.Continues, strings.HasPrefix(cells[5], "SIGCONT"), h.Name)
		assert.Equal(t, h.Repeat > 0, strings.HasPrefix(cells[5], "the signal comes again"), h.Name)
	}
	assert.Len(t, rows, len(supervisorHabits))
}
