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

// Mux is the job kinds a worker understands. It is not for concurrent use before New and
// not to be changed after.
type Mux struct {
	kinds      []kind
	middleware []Middleware
}

type kind struct {
	name    string
	handler Handler
	config  protocol.KindConfig
}

// NewMux returns a Mux without kinds.
func NewMux() *Mux { return &Mux{} }

// KindOption is an option of a job kind.
type KindOption func(*protocol.KindConfig)

// Versions declares the payload versions that are understood, both ends included. Others
// are refused: handed back with a delay, and never failed. Without it only version 0 is
// understood.
func Versions(min, max uint16) KindOption {
	return func(k *protocol.KindConfig) { k.MinVersion, k.MaxVersion = min, max }
}

// Gap declares the longest time between two checks for cancellation. A declared gap that
// does not fit the grace is refused by New.
func Gap(d time.Duration) KindOption {
	return func(k *protocol.KindConfig) { k.Gap = protocol.Duration(d) }
}

// Undo declares how long the undo hooks may take; 1 s unless declared. A job whose undo
// takes longer is quarantined.
func Undo(d time.Duration) KindOption {
	return func(k *protocol.KindConfig) { k.Undo = protocol.Duration(d) }
}

// Timeout limits one execution; overrunning it is a failure.
func Timeout(d time.Duration) KindOption {
	return func(k *protocol.KindConfig) { k.Timeout = protocol.Duration(d) }
}

// Handle registers the handler of a job kind. It panics when the kind has one already.
func (m *Mux) Handle(name string, h Handler, options ...KindOption) {
	if slices.ContainsFunc(m.kinds, func(k kind) bool { return k.name == name }) {
		panic(fmt.Sprintf("worker: kind %q has a handler already", name))
	}
	k := kind{name: name, handler: h, config: protocol.KindConfig{Undo: protocol.Second}}
	for _, o := range options {
		o(&k.config)
	}
	m.kinds = append(m.kinds, k)
}

// Use adds middleware around every handler; the first added is the outermost.
func (m *Mux) Use(mw ...Middleware) { m.middleware = append(m.middleware, mw...) }

// find returns the index of a kind, or one beyond all kinds.
func (m *Mux) find(name string) int {
	if i := slices.IndexFunc(m.kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		return i
	}
	return len(m.kinds)
}

func (m *Mux) wrapped(i int) Handler {
	h := m.kinds[i].handler
	for k := len(m.middleware) - 1; k >= 0; k-- {
		h = m.middleware[k](h)
	}
	return h
}

func (m *Mux) names() []string {
	all := make([]string, len(m.kinds))
	for i, k := range m.kinds {
		all[i] = k.name
	}
	return all
}

func (m *Mux) versions() []KindVersions {
	all := make([]KindVersions, len(m.kinds))
	for i, k := range m.kinds {
		all[i] = KindVersions{Kind: k.name, Min: k.config.MinVersion, Max: k.config.MaxVersion}
	}
	return all
}
