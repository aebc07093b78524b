package brokertest

import (
	"context"
	"sync"
	"time"

	"github.com/quiesce/quiesce/model/memory"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// faulty is the in-memory broker with one fault: what is set replaces a method, and may call
// the sound one of inMemory. Only one of them runs at a time, but for claim, which may wait
// and locks what it needs.
type faulty struct {
	*inMemory
	sync.Mutex
	register  func(context.Context, worker.Life) (uint64, error)
	going     func(context.Context, uint64, string) error
	claim     func(context.Context, worker.ClaimRequest) (worker.ClaimAnswer, error)
	withdraw  func(context.Context, uint64, string, uint64) (int, error)
	renew     func(context.Context, []worker.Renewal) ([]protocol.Code, error)
	save      func(context.Context, worker.Renewal) (protocol.Code, error)
	settle    func(context.Context, []worker.Settlement) ([]protocol.Code, error)
	enqueue   func(string, NewJob) protocol.JobKey
	cancelJob func(protocol.JobKey)
	job       func(protocol.JobKey) (Job, bool)
	cutOff    func() func()
}

// fault breaks a broker: f's methods, or the settings it is made with.
type fault func(f *faulty, cfg Config)

// open returns how a broker with the fault is opened, and one with settings that are wrong.
func (broken fault) open(settings func(*memory.Config, Config)) Open {
	return func(t TB, cfg Config) Subject {
		wrong := settingsOf(cfg)
		if settings != nil {
			settings(&wrong, cfg)
		}
		f := &faulty{inMemory: &inMemory{memory.NewFake(cfg.Start, wrong), t}}
		if broken != nil {
			broken(f, cfg)
		}
		return f
	}
}

func (f *faulty) Register(ctx context.Context, life worker.Life) (uint64, error) {
	if f.register != nil {
		f.Lock()
		defer f.Unlock()
		return f.register(ctx, life)
	}
	return f.inMemory.Register(ctx, life)
}

func (f *faulty) Going(ctx context.Context, incarnation uint64, queue string) error {
	if f.going != nil {
		f.Lock()
		defer f.Unlock()
		return f.going(ctx, incarnation, queue)
	}
	return f.inMemory.Going(ctx, incarnation, queue)
}

func (f *faulty) Claim(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
	if f.claim != nil {
		return f.claim(ctx, req)
	}
	return f.inMemory.Claim(ctx, req)
}

func (f *faulty) Withdraw(ctx context.Context, incarnation uint64, queue string, seq uint64) (int, error) {
	if f.withdraw != nil {
		f.Lock()
		defer f.Unlock()
		return f.withdraw(ctx, incarnation, queue, seq)
	}
	return f.inMemory.Withdraw(ctx, incarnation, queue, seq)
}

func (f *faulty) Renew(ctx context.Context, renewals []worker.Renewal) ([]protocol.Code, error) {
	if f.renew != nil {
		f.Lock()
		defer f.Unlock()
		return f.renew(ctx, renewals)
	}
	return f.inMemory.Renew(ctx, renewals)
}

func (f *faulty) Save(ctx context.Context, save worker.Renewal) (protocol.Code, error) {
	if f.save != nil {
		f.Lock()
		defer f.Unlock()
		return f.save(ctx, save)
	}
	return f.inMemory.Save(ctx, save)
}

func (f *faulty) Settle(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
	if f.settle != nil {
		f.Lock()
		defer f.Unlock()
		return f.settle(ctx, settlements)
	}
	return f.inMemory.Settle(ctx, settlements)
}

func (f *faulty) Enqueue(queue string, job NewJob) protocol.JobKey {
	if f.enqueue != nil {
		f.Lock()
		defer f.Unlock()
		return f.enqueue(queue, job)
	}
	return f.inMemory.Enqueue(queue, job)
}

func (f *faulty) CancelJob(key protocol.JobKey) {
	if f.cancelJob != nil {
		f.Lock()
		defer f.Unlock()
		f.cancelJob(key)
		return
	}
	f.inMemory.CancelJob(key)
}

func (f *faulty) Job(key protocol.JobKey) (Job, bool) {
	if f.job != nil {
		f.Lock()
		defer f.Unlock()
		return f.job(key)
	}
	return f.inMemory.Job(key)
}

func (f *faulty) CutOff() func() {
	if f.cutOff != nil {
		f.Lock()
		defer f.Unlock()
		return f.cutOff()
	}
	return f.inMemory.CutOff()
}

// settled returns a Settle that changes settlements on their way, and codes on their way
// back.
func (f *faulty) settled(there func(*worker.Settlement), back func(worker.Settlement, protocol.Code) protocol.Code) func(context.Context, []worker.Settlement) ([]protocol.Code, error) {
	return func(ctx context.Context, settlements []worker.Settlement) ([]protocol.Code, error) {
		codes := make([]protocol.Code, len(settlements))
		for i, s := range settlements {
			if there != nil {
				there(&s)
			}
			one, err := f.inMemory.Settle(ctx, []worker.Settlement{s})
			if err != nil {
				return nil, err
			}
			codes[i] = one[0]
			if back != nil {
				codes[i] = back(settlements[i], codes[i])
			}
		}
		return codes, nil
	}
}

// granted returns a Claim that changes answers on their way back.
func (f *faulty) granted(back func(worker.ClaimRequest, *worker.ClaimAnswer)) func(context.Context, worker.ClaimRequest) (worker.ClaimAnswer, error) {
	return func(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
		a, err := f.inMemory.Claim(ctx, req)
		if err == nil {
			f.Lock()
			defer f.Unlock()
			back(req, &a)
		}
		return a, err
	}
}

// asked returns a Claim that changes requests on their way; false refuses them.
func (f *faulty) asked(there func(*worker.ClaimRequest) bool) func(context.Context, worker.ClaimRequest) (worker.ClaimAnswer, error) {
	return func(ctx context.Context, req worker.ClaimRequest) (worker.ClaimAnswer, error) {
		f.Lock()
		ok := there(&req)
		f.Unlock()
		if !ok {
			return worker.ClaimAnswer{}, worker.ErrRefused
		}
		return f.inMemory.Claim(ctx, req)
	}
}

// renewed returns a Renew that changes codes on their way back.
func (f *faulty) renewed(back func(worker.Renewal, protocol.Code) protocol.Code) func(context.Context, []worker.Renewal) ([]protocol.Code, error) {
	return func(ctx context.Context, renewals []worker.Renewal) ([]protocol.Code, error) {
		codes, err := f.inMemory.Renew(ctx, renewals)
		for i := range codes {
			codes[i] = back(renewals[i], codes[i])
		}
		return codes, err
	}
}

// offset is how far the broker's clock was ahead of the client's when it was opened.
func offset(cfg Config) time.Duration { return time.Until(cfg.Start).Round(time.Minute) }
