package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quiesce/quiesce/protocol"
)

// Handler runs one job. nil means done; Yield hands the job back; any other error is a
// failure before the handler was cancelled and an interruption after, unless marked with
// Failed. A panic is a failure.
//
// ctx is cancelled with a cause (ErrDraining, ErrHurry, ErrLeaseLost, ErrTimeout,
// ErrCancelled) and never because the context given to Run is done.
type Handler func(ctx context.Context, job *Job) error

// Middleware wraps handlers, as in net/http.
type Middleware func(Handler) Handler

// Mux is the job kinds a worker understands. It is not for concurrent use; New takes what
// it knows by then.
type Mux struct {
	kinds      []kind
	middleware []Middleware

	// Of the mux of a worker.
	index    map[string]protocol.Kind
	versions []KindVersions
}

type kind struct {
	name     string
	handler  Handler
	wrapped  Handler // in the middleware
	config   protocol.KindConfig
	onExpiry Expiry
}

// NewMux returns a Mux without kinds.
func NewMux() *Mux { return &Mux{} }

// KindOption is an option of a job kind.
type KindOption func(*kind)

// Versions declares the payload versions that are understood, both ends included. Others
// are refused: handed back with a delay, and never failed. Without it only version 0 is
// understood.
func Versions(min, max uint16) KindOption {
	return func(k *kind) { k.config.MinVersion, k.config.MaxVersion = min, max }
}

// Gap declares the longest time between two checks for cancellation. A declared gap that
// does not fit the grace is refused by New.
func Gap(d time.Duration) KindOption {
	return func(k *kind) { k.config.Gap = protocol.Duration(d) }
}

// Undo declares how long the undo hooks may take; 1 s unless declared. A job whose undo
// takes longer is quarantined.
func Undo(d time.Duration) KindOption {
	return func(k *kind) { k.config.Undo = protocol.Duration(d) }
}

// Timeout limits one execution; overrunning it is a failure.
func Timeout(d time.Duration) KindOption {
	return func(k *kind) { k.config.Timeout = protocol.Duration(d) }
}

// OnExpiry declares what the broker does with a job of the kind whose lease ran out, which
// is what a crash looks like: Redeliver unless declared. QuarantineOnExpiry is for jobs whose
// partial work must be looked at before anybody goes on.
func OnExpiry(e Expiry) KindOption {
	return func(k *kind) { k.onExpiry = e }
}

// Handle registers the handler of a job kind. It panics when the kind has one already, and
// on a kind without a name or a handler that is nil.
func (m *Mux) Handle(name string, h Handler, options ...KindOption) {
	switch {
	case name == "":
		panic("worker: a kind needs a name")
	case h == nil:
		panic(fmt.Sprintf("worker: the handler of kind %q is nil", name))
	case slices.ContainsFunc(m.kinds, func(k kind) bool { return k.name == name }):
		panic(fmt.Sprintf("worker: kind %q has a handler already", name))
	}
	k := kind{name: name, handler: h, config: protocol.KindConfig{Undo: protocol.Second}}
	for _, o := range options {
		o(&k)
	}
	m.kinds = append(m.kinds, k)
}

// Use adds middleware around every handler; the first added is the outermost.
func (m *Mux) Use(mw ...Middleware) { m.middleware = append(m.middleware, mw...) }

// built returns a copy of m for a worker, with the middleware around every handler.
func (m *Mux) built() *Mux {
	b := &Mux{kinds: slices.Clone(m.kinds), index: make(map[string]protocol.Kind, len(m.kinds))}
	for i := range b.kinds {
		k := &b.kinds[i]
		k.wrapped = k.handler
		for _, wrap := range slices.Backward(m.middleware) {
			k.wrapped = wrap(k.wrapped)
		}
		b.index[k.name] = protocol.Kind(i)
		b.versions = append(b.versions, KindVersions{Kind: k.name, Min: k.config.MinVersion, Max: k.config.MaxVersion, OnExpiry: k.onExpiry})
	}
	return b
}

// kindOf returns the kind of a name, or one beyond all kinds.
func (m *Mux) kindOf(name string) protocol.Kind {
	if k, ok := m.index[name]; ok {
		return k
	}
	return protocol.Kind(len(m.kinds))
}

func (m *Mux) names() []string {
	all := make([]string, len(m.kinds))
	for i, k := range m.kinds {
		all[i] = k.name
	}
	return all
}
