package record

import (
	"runtime/debug"
	"time"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Header says whose recording it is, and all that a machine needs to do it again.
type Header struct {
	Format       int    `json:"format"`
	RulesVersion int    `json:"rules_version"` // of the protocol that recorded it
	Build        string `json:"build"`         // the program and its revision, as far as it knows them
	Go           string `json:"go"`

	Seat       string           `json:"seat"`
	Life       string           `json:"life"` // the nonce of the process
	Generation uint32           `json:"generation"`
	Began      time.Time        `json:"began"`    // when the recording began, on the wall clock
	BeganAt    protocol.Instant `json:"began_at"` // the same on the worker's clock
	Slots      int              `json:"slots"`    // jobs at once
	Queues     []string         `json:"queues"`   // by number
	Kinds      []string         `json:"kinds"`    // by protocol.Kind
	Seed       uint64           `json:"seed"`     // of the machine's jitter
	Config     protocol.Config  `json:"config"`   // durations in nanoseconds
}

func newHeader(s worker.Setup, began time.Time) Header {
	h := Header{
		Format: format, RulesVersion: protocol.RulesVersion,
		Seat: s.Life.Seat, Life: s.Life.Nonce.String(), Generation: s.Life.Generation,
		Began: began.UTC(), BeganAt: s.Clock.Now(),
		Slots: s.Slots, Queues: s.Queues, Kinds: s.Kinds, Seed: s.Seed, Config: *s.Config,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		h.Go, h.Build = info.GoVersion, info.Path+" "+info.Main.Version
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				h.Build += " " + setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true":
				h.Build += " (modified)"
			}
		}
	}
	return h
}
