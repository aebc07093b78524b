package worker

import "github.com/quiesce/quiesce/protocol"

// What tests outside the package look at. They are outside because the broker they use,
// package model/memory, imports this one.

// Record has f called with every step of the machine.
func (w *Worker) Record(f func(protocol.Instant, protocol.Event, []protocol.Effect)) { w.record = f }

// Config returns what the machine was told.
func (w *Worker) Config() *protocol.Config { return w.cfg }

// Seed returns the machine's seed.
func (w *Worker) Seed() uint64 { return seedOf(w.life.Nonce) }

// OnCommit adds a hook that makes something final.
func (s *Scope) OnCommit(commit func() error) { s.add(hook{commit: commit}) }
