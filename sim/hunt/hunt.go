package hunt

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/sim/invariant"
)

// Plan is what to hunt.
type Plan struct {
	First    uint64            // the first seed
	Seeds    int               // how many; 0 is as many as there is time for
	Fault    string            // built into every policy, one of model.UnsafeNames; empty is the sound protocol
	Progress func(seeds int64) // called now and then by one goroutine at a time; may be nil
}

// Found is a broken promise, made small.
type Found struct {
	Scenario  *model.Scenario // it names the run; see Try
	Invariant invariant.ID
	Panic     string // instead of an invariant: what the machine met that its rules exclude
	Seed      uint64 // that drew it
	Story     *Story // nil of a panic
	Runs      int    // that minimising took
}

// Result is what a hunt came to.
type Result struct {
	Seeds int64  // tried, up to the one that found something
	Found *Found // of the lowest seed that broke something; nil is nothing
}

// Hunt tries seed after seed on all cores, until one breaks a promise, all were tried, or ctx is
// done. What it finds is minimised and does not depend on the number of cores. An error is one
// of the scenarios, not of the protocol.
func Hunt(ctx context.Context, plan Plan) (*Result, error) {
	h := &search{plan: plan, limit: math.MaxUint64}
	if plan.Seeds > 0 {
		h.limit = plan.First + uint64(plan.Seeds)
	}
	h.next.Store(plan.First)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { h.work(ctx) })
	}
	wg.Wait()
	if h.err != nil {
		return nil, h.err
	}
	res := &Result{Seeds: h.done.Load()}
	if h.scenario == nil {
		return res, nil
	}
	res.Seeds = int64(h.seed-plan.First) + 1
	found, err := small(h.scenario, h.seed)
	res.Found = found
	return res, err
}

// search is a hunt on its way. Seeds are given out in order, and those below the first that
// found something are all finished, so that the result is always that of the lowest.
type search struct {
	plan Plan
	next atomic.Uint64
	done atomic.Int64

	mu       sync.Mutex
	limit    uint64 // seeds from here on are of no interest any more
	seed     uint64 // of scenario
	scenario *model.Scenario
	err      error
}

func (h *search) work(ctx context.Context) {
	for ctx.Err() == nil {
		seed := h.next.Add(1) - 1
		h.mu.Lock()
		over := seed >= h.limit || h.err != nil
		h.mu.Unlock()
		if over {
			return
		}
		sc, broken, err := h.one(seed)
		n := h.done.Add(1)
		h.mu.Lock()
		switch {
		case err != nil:
			h.err = err
		case broken && seed < h.limit:
			h.limit, h.seed, h.scenario = seed, seed, sc
		}
		if h.plan.Progress != nil && n%256 == 0 {
			h.plan.Progress(n)
		}
		h.mu.Unlock()
	}
}

// one tries one seed.
func (h *search) one(seed uint64) (sc *model.Scenario, broken bool, err error) {
	if sc, err = Draw(seed, h.plan.Fault); err != nil {
		return nil, false, err
	}
	o, err := Try(sc)
	var p *PanicError
	switch {
	case errors.As(err, &p):
		return sc, true, nil
	case err != nil:
		return nil, false, err
	default:
		return sc, len(o.Findings) > 0, nil
	}
}

// small minimises what a scenario showed and tells it.
func small(sc *model.Scenario, seed uint64) (*Found, error) {
	o, err := Try(sc)
	var p *PanicError
	if errors.As(err, &p) {
		m := minimise(sc, func(_ *model.Scenario, _ *Outcome, err error) bool { return errors.As(err, &p) })
		m.best.Finding.Invariant = "panic"
		return &Found{Scenario: m.best, Panic: p.Value, Seed: seed, Runs: m.runs}, nil
	}
	if err != nil {
		return nil, err
	}
	f := &Found{Invariant: o.Findings[0].Invariant, Seed: seed}
	f.Scenario, f.Runs = Minimise(sc, f.Invariant)
	f.Scenario.Finding.Invariant = f.Invariant.String()
	f.Scenario.About = f.Invariant.About()
	f.Story, err = Tell(f.Scenario, f.Invariant)
	return f, err
}
