package record

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// writer carries bytes to the disk on a goroutine of its own: the worker's must not wait for
// one. What gathers while a write is out goes with the next, and nothing lingers; so a
// process that is killed loses what it recorded during its last write.
type writer struct {
	dir                    string
	maxBytes, segmentBytes int64
	limit                  int // of what may wait
	log                    *slog.Logger

	mu      sync.Mutex
	waiting []byte
	cuts    []cut
	broken  bool // the segment could not be written; what follows in it is dropped
	closed  bool
	idle    bool // all of it is with the disk, and the goroutine sleeps
	wake    chan struct{}
	done    chan struct{}

	file   *os.File // the goroutine's, like what follows
	ailing bool     // a failure was logged, and no recovery since
}

// cut is where in the waiting bytes a segment begins.
type cut struct {
	at   int
	name string
}

func newWriter(opt Options) *writer {
	w := &writer{
		dir: opt.Dir, maxBytes: opt.MaxBytes, segmentBytes: opt.SegmentBytes,
		limit: int(min(opt.SegmentBytes, 1<<20)), log: opt.Logger,
		idle: true, wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// begin adds the start of a segment, and write more of it. They return false when it was not
// taken: too much waits already, or the segment cannot be written. They do not block.
func (w *writer) begin(name string, data []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting)+len(data) > w.limit && len(w.waiting) > 0 {
		return false
	}
	w.broken = false
	w.cuts = append(w.cuts, cut{len(w.waiting), name})
	w.add(data)
	return true
}

func (w *writer) write(data []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken || len(w.waiting)+len(data) > w.limit {
		return false
	}
	w.add(data)
	return true
}

func (w *writer) add(data []byte) {
	w.waiting = append(w.waiting, data...)
	w.rouse()
}

// rouse wakes the goroutine; one that is awake looks once more before it sleeps.
func (w *writer) rouse() {
	if w.idle {
		w.idle = false
		w.wake <- struct{}{}
	}
}

func (w *writer) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// behind reports whether more than half of what may wait still does.
func (w *writer) behind() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) > w.limit/2
}

// close writes what waits, and waits for that at most for the given time.
func (w *writer) close(limit time.Duration) {
	w.mu.Lock()
	w.closed = true
	w.rouse()
	w.mu.Unlock()
	select {
	case <-w.done:
	case <-time.After(limit):
		w.log.Warn("the end of the flight recording could not be written in time")
	}
}

func (w *writer) run() {
	defer close(w.done)
	var data []byte // used in turn with the waiting one, so that nothing is allocated
	var cuts []cut
	for range w.wake {
		for {
			w.mu.Lock()
			data, w.waiting = w.waiting, data[:0]
			cuts, w.cuts = w.cuts, cuts[:0]
			closed := w.closed
			w.idle = len(data) == 0
			w.mu.Unlock()
			if len(data) == 0 && closed {
				w.closeFile()
				return
			}
			if len(data) == 0 {
				break
			}
			w.carry(data, cuts)
		}
	}
}

// carry writes bytes into the segments they belong to.
func (w *writer) carry(data []byte, cuts []cut) {
	from := 0
	for _, c := range cuts {
		w.put(data[from:c.at])
		w.open(c.name)
		from = c.at
	}
	w.put(data[from:])
}

func (w *writer) open(name string) {
	w.closeFile()
	w.makeRoom()
	f, err := os.OpenFile(filepath.Join(w.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		w.fail(err)
		return
	}
	w.file = f
}

func (w *writer) put(data []byte) {
	if w.file == nil || len(data) == 0 {
		return
	}
	if _, err := w.file.Write(data); err != nil {
		w.fail(err)
		return
	}
	if w.ailing {
		w.ailing = false
		w.log.Info("the flight recorder writes again")
	}
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	w.broken = true
	w.mu.Unlock()
	w.closeFile()
	if !w.ailing {
		w.ailing = true
		w.log.Warn("the flight recorder cannot write; it leaves steps out and tries again from time to time", "error", err)
	}
}

func (w *writer) closeFile() {
	if w.file != nil {
		if err := w.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
			w.log.Warn("a segment of the flight recording could not be closed", "error", err)
		}
		w.file = nil
	}
}
