package realworld

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Worker is what this package asks a worker.Worker.
type Worker interface {
	// Ready reports whether the worker claims jobs.
	Ready() bool
	// SecondsLeft is how long it is until SIGKILL; ok is false outside a drain.
	SecondsLeft() (seconds float64, ok bool)
	// Status is the exit status as far as it is known.
	Status() int
}

// EndpointOptions configure an Endpoint.
type EndpointOptions struct {
	// AllowRemote permits an address that others than this host can reach. Whoever can reach
	// it can then drain the worker.
	AllowRemote bool
}

// Endpoint answers probes and takes orders over HTTP:
//
//	GET  /readyz    200 while jobs are claimed, 503 otherwise; the seconds left during a drain
//	GET  /healthz   200 while the worker's loop turns, and during a drain; 503 otherwise
//	GET  /prestop   begin a drain and answer when the worker has come to rest (POST too)
//	POST /drain     begin a drain and answer at once
//	POST /quiet     claim nothing, otherwise live on
//	POST /resume    the end of quiet
//
// /prestop and /drain take ?kill_after=30s or ?kill_at=2026-01-02T15:04:05Z when the caller
// knows when SIGKILL comes. Answers are JSON.
type Endpoint struct {
	worker   Worker
	stops    *Stops
	server   *http.Server
	listener net.Listener
	rest     chan struct{} // closed when the worker has come to rest
	once     sync.Once
}

// aliveWithin is how soon a worker's loop must turn to be healthy. It turns within
// microseconds; seconds mean that the process is starved or broken.
const aliveWithin = 5 * time.Second

// closeWithin is how long Close waits for callers to take their answers. They are a hundred
// bytes each; who does not take them is not there.
const closeWithin = time.Second

// Listen opens an Endpoint: on a Unix socket ("unix:/run/render/0.sock", which only the
// user of this process may open; "unix:@name" is an abstract one), or on a loopback address
// ("127.0.0.1:8081"). A socket that a dead process left is replaced. stops is what the
// worker's Run is given the events of.
func Listen(address string, w Worker, stops *Stops, options EndpointOptions) (*Endpoint, error) {
	l, err := listen(address, options.AllowRemote)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{worker: w, stops: stops, listener: l, rest: make(chan struct{})}
	mux := http.NewServeMux()
	probes := Probes(w, stops)
	mux.Handle("GET /readyz", probes)
	mux.Handle("GET /healthz", probes)
	for pattern, order := range map[string]http.HandlerFunc{
		"GET /prestop": e.preStop, "POST /prestop": e.preStop,
		"POST /drain": e.drain, "POST /quiet": e.quiet, "POST /resume": e.resume,
	} {
		mux.HandleFunc(pattern, notFromBrowsers(order))
	}
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go e.server.Serve(l)
	return e, nil
}

// Addr is where the endpoint listens.
func (e *Endpoint) Addr() net.Addr { return e.listener.Addr() }

// Close is called when Run has returned: whoever waits in /prestop gets the answer, and
// nobody new is heard.
func (e *Endpoint) Close() error {
	e.once.Do(func() { close(e.rest) })
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := e.server.Shutdown(ctx); err != nil {
		return e.server.Close()
	}
	return nil
}

// Probes answers /readyz and /healthz and takes no orders, so that it may be served to the
// network: beside the metrics, for example, where a kubelet can reach it.
func Probes(w Worker, stops *Stops) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		state := stateOf(w)
		status := http.StatusOK
		if !state.Ready {
			status = http.StatusServiceUnavailable
		}
		answer(rw, status, state)
	})
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, r *http.Request) {
		// A worker that drains has its end in sight; a liveness probe must not bring it nearer.
		if _, draining := w.SecondsLeft(); !draining {
			ctx, cancel := context.WithTimeout(r.Context(), aliveWithin)
			defer cancel()
			if err := stops.Alive(ctx); err != nil {
				answer(rw, http.StatusServiceUnavailable, problem{fmt.Sprintf("the worker's loop did not turn within %v", aliveWithin)})
				return
			}
		}
		answer(rw, http.StatusOK, struct {
			Alive bool `json:"alive"`
		}{true})
	})
	return mux
}

// state is what /readyz tells.
type state struct {
	Ready       bool     `json:"ready"`
	Draining    bool     `json:"draining"`
	SecondsLeft *float64 `json:"seconds_left,omitempty"` // until SIGKILL
}

func stateOf(w Worker) state {
	s := state{Ready: w.Ready()}
	if left, ok := w.SecondsLeft(); ok {
		s.Draining, s.SecondsLeft = true, &left
	}
	return s
}

type problem struct {
	Error string `json:"error"`
}

// preStop answers when the worker has come to rest, since the platform sends its signal, or
// worse, as soon as the hook is over. The drain goes on when the caller hangs up.
func (e *Endpoint) preStop(rw http.ResponseWriter, r *http.Request) {
	if !e.notice(rw, r) {
		return
	}
	select {
	case <-e.rest:
		answer(rw, http.StatusOK, struct {
			AtRest bool `json:"at_rest"`
			Status int  `json:"status"`
		}{true, e.worker.Status()})
	case <-r.Context().Done():
	}
}

func (e *Endpoint) drain(rw http.ResponseWriter, r *http.Request) {
	if e.notice(rw, r) {
		answer(rw, http.StatusAccepted, struct{}{})
	}
}

func (e *Endpoint) quiet(rw http.ResponseWriter, _ *http.Request) {
	e.stops.Quiet()
	answer(rw, http.StatusAccepted, struct{}{})
}

func (e *Endpoint) resume(rw http.ResponseWriter, _ *http.Request) {
	e.stops.Resume()
	answer(rw, http.StatusAccepted, struct{}{})
}

// notice hands a stop on, unless the request cannot be understood.
func (e *Endpoint) notice(rw http.ResponseWriter, r *http.Request) bool {
	killAt, err := killAtOf(r)
	if err != nil {
		answer(rw, http.StatusBadRequest, problem{err.Error()})
		return false
	}
	e.stops.Notice(killAt)
	return true
}

// killAtOf is the zero time when the request does not say when SIGKILL comes.
func killAtOf(r *http.Request) (time.Time, error) {
	if err := r.ParseForm(); err != nil {
		return time.Time{}, fmt.Errorf("the query %q cannot be read: %w", r.URL.RawQuery, err)
	}
	for name, values := range r.Form {
		switch {
		case name != "kill_after" && name != "kill_at":
			return time.Time{}, fmt.Errorf("%q is not known; write kill_after=30s or kill_at=2026-01-02T15:04:05Z", name)
		case len(values) > 1 || values[0] == "":
			return time.Time{}, fmt.Errorf("%s is given as %q; give it once, with its value", name, values)
		}
	}
	after, at := r.FormValue("kill_after"), r.FormValue("kill_at")
	switch {
	case after != "" && at != "":
		return time.Time{}, fmt.Errorf("kill_after and kill_at say the same thing; give one of them")
	case after != "":
		d, err := time.ParseDuration(after)
		if err != nil || d < 0 {
			return time.Time{}, fmt.Errorf("kill_after %q is not a duration; write for example 30s", after)
		}
		return time.Now().Add(d), nil
	case at != "":
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return time.Time{}, fmt.Errorf("kill_at %q is not an instant; write for example 2026-01-02T15:04:05Z", at)
		}
		return t, nil
	default:
		return time.Time{}, nil
	}
}

// notFromBrowsers refuses what a page in a browser on this host sends: loopback is open to
// it, and a hook of kubelet's cannot be told to use POST.
func notFromBrowsers(h http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
			answer(rw, http.StatusForbidden, problem{"orders are not taken from browsers"})
			return
		}
		h(rw, r)
	}
}

// answer writes JSON. A caller that is gone does not matter.
func answer(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body)
}
