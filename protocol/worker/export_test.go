package worker

import "github.com/quiesce/quiesce/protocol"

// What tests outside the package look at. They are outside because the broker they use,
// package model/memory, imports this one.

// Config returns what the machine was told.
func (w *Worker) Config() *protocol.Config { return w.cfg }

// OnCommit adds a hook that makes something final.
func (s *Scope) OnCommit(commit func() error) { _ = s.add(hook{commit: commit}) }

// AskAtOnce makes a worker tell its machine of one event at a time, as a laboratory does whose
// events have no company.
func (w *Worker) AskAtOnce() { w.gathers = false }
