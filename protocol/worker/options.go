package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/quiesce/quiesce/internal/grace"
	"github.com/quiesce/quiesce/protocol"
)

// Options configure a worker. What is zero has the default named beside it.
type Options struct {
	Seat       string   // host name and process id
	Generation uint32   // of the code; grows with every deploy, if you know it
	Queues     []string // "default"
	Slots      int      // 1; jobs at once

	// Grace is what the supervisor allows between SIGTERM and SIGKILL, less what a preStop
	// hook uses of it. The environment variable QUIESCE_GRACE (30s, or 30) gives it too,
	// and counts for more.
	// There is no default: nobody but the supervisor knows it.
	Grace   time.Duration
	Reserve time.Duration // grace/6, at least 0.5 s and at most 5 s

	Lease     time.Duration // what the broker says it grants, else 5 m; must be what it grants
	Heartbeat time.Duration // a third of the lease
	Park      time.Duration // 20 s; the longest long poll
	Reply     time.Duration // 1 s; how long any other answer may take
	DriftPPM  int64         // 200; how far the worker's and the broker's clock may run apart

	Policy protocol.Policy // hybrid

	Logger    *slog.Logger                // slog.Default
	Observers []Observer                  // a flight recorder, metrics
	OnExit    []func(ctx context.Context) // run at the end, inside the exit slice of the grace
	Clock     Clock                       // the system's, counting through suspend

	Exclusive []Exclusive // resources to be held before the first claim
	Alone     bool        // no earlier life of this seat can be running: a kernel lock proved it

	// Track, if set, is told of each file and directory that a scope makes, so that the next
	// life of the seat can remove what a killed one left; untrack follows when it is gone or
	// in its place.
	Track func(path string) (untrack func() error, err error)
}

// DefaultDriftPPM is the drift that is allowed for unless Options say otherwise: twice what
// a crystal oscillator without correction is good for.
const DefaultDriftPPM = 200

// withDefaults fills in what does not depend on the protocol.
func (o Options) withDefaults() (Options, error) {
	if o.Seat == "" {
		host, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("worker: no seat given, and the host has no name: %w", err)
		}
		o.Seat = host + "/" + strconv.Itoa(os.Getpid())
	}
	if len(o.Queues) == 0 {
		o.Queues = []string{"default"}
	}
	if o.Slots == 0 {
		o.Slots = 1
	}
	g, err := graceFromEnvironment()
	if err != nil {
		return o, err
	}
	if g > 0 {
		o.Grace = g // who deploys it knows better than who wrote it (rule 5)
	}
	if o.Grace == 0 {
		return o, errors.New("worker: grace is not known; set Options.Grace or QUIESCE_GRACE to what the supervisor allows between SIGTERM and SIGKILL, less its preStop hook")
	}
	if o.DriftPPM == 0 {
		o.DriftPPM = DefaultDriftPPM
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	return o, nil
}

// graceFromEnvironment returns 0 when the environment says nothing.
func graceFromEnvironment() (time.Duration, error) {
	v := os.Getenv(grace.Variable)
	if v == "" {
		return 0, nil
	}
	d, ok := grace.Parse(v)
	if !ok {
		return 0, fmt.Errorf("worker: %s %q is not a duration; write for example 30s", grace.Variable, v)
	}
	return d, nil
}

// mostSlots is far beyond what one process works on at once: each slot takes memory from the start.
const mostSlots = 100_000

// config translates options and mux into the machine's configuration, or reports everything
// about them that cannot work.
func (o *Options) config(mux *Mux, broker Broker) (*protocol.Config, error) {
	caps := broker.Capabilities()
	_, posts := broker.(Poster)
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("worker: "+format, args...))
		}
	}
	refuse(o.Slots < 0, "slots %d must be positive", o.Slots)
	refuse(o.Slots > mostSlots, "slots %d are more than the %d of one worker; run more workers", o.Slots, mostSlots)
	refuse(len(mux.kinds) == 0, "the mux has no kinds; register handlers before New")
	if o.Lease == 0 {
		o.Lease = caps.Lease
	}
	refuse(caps.Lease > 0 && o.Lease != caps.Lease, "lease %v is not what the broker grants, %v; a worker that trusts another lease than it has runs jobs twice", o.Lease, caps.Lease)
	for i, q := range o.Queues {
		refuse(q == "", "queue %d has no name", i)
		refuse(slices.Contains(o.Queues[:i], q), "queue %q is listed twice", q)
	}
	for _, x := range o.Exclusive {
		refuse(x.Resource == nil || x.Threshold <= 0, "exclusive resource %q needs a port and a threshold, not %v", x.Name, x.Threshold)
	}
	cfg := protocol.Config{
		Policy: o.Policy, Queues: len(o.Queues),
		Lease: protocol.Duration(o.Lease), Heartbeat: protocol.Duration(o.Heartbeat), DriftPPM: o.DriftPPM,
		Park: protocol.Duration(o.Park), Reply: protocol.Duration(o.Reply),
		Grace: protocol.Duration(o.Grace), Reserve: protocol.Duration(o.Reserve), NoWithdraw: caps.NoWithdraw, SettlesFirst: posts,
	}.WithDefaults()
	errs = append(errs, validate(cfg, mux)...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, k := range mux.kinds {
		cfg.Kinds = append(cfg.Kinds, k.config)
	}
	return &cfg, nil
}

// validate reports what cannot work about cfg, and then about each kind under its name: the
// machine knows kinds by number.
func validate(cfg protocol.Config, mux *Mux) []error {
	if err := cfg.Validate(); err != nil {
		return []error{err}
	}
	var errs []error
	for _, k := range mux.kinds {
		if k.config.MinVersion > k.config.MaxVersion {
			errs = append(errs, fmt.Errorf("worker: kind %q: versions %d to %d are none; the smaller comes first", k.name, k.config.MinVersion, k.config.MaxVersion))
		}
		cfg.Kinds = []protocol.KindConfig{k.config}
		if err := cfg.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("worker: kind %q: %w", k.name, err))
		}
	}
	return errs
}
