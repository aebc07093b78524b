package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld/proc"
	"github.com/quiesce/quiesce/realworld/redis"
)

// film is the payload of both kinds of jobs.
type film struct {
	Name   string        `json:"name"`
	Frames int           `json:"frames"`
	Size   int           `json:"size"` // in pixels; since version 2, it was 120 before
	Pace   time.Duration `json:"pace"` // how long a frame takes at least, in nanoseconds
}

// Payload versions. Workers of the deploy before this one, which know version 1 only, hand
// version 2 back and are not to blame.
const (
	oldest = 1
	newest = 2
)

// fileName is what a film may be called: its name becomes that of a folder.
var fileName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,60}$`)

func (f *film) check() error {
	switch {
	case !fileName.MatchString(f.Name):
		return fmt.Errorf("a film cannot be called %q; letters, digits, - and _ make a name", f.Name)
	case f.Frames < 1 || f.Frames > 10_000:
		return fmt.Errorf("film %s cannot have %d frames; 1 to 10000 can be drawn", f.Name, f.Frames)
	case f.Size < 16 || f.Size > 2048:
		return fmt.Errorf("film %s cannot be %d pixels wide; 16 to 2048 can be drawn", f.Name, f.Size)
	case f.Pace < 0:
		return fmt.Errorf("a frame of film %s cannot take %v", f.Name, f.Pace)
	}
	return nil
}

// job makes the film a job of a kind. While one of its name waits or runs, no second is added.
func (f *film) job(kind string) (redis.Job, error) {
	payload, err := json.Marshal(f)
	return redis.Job{Kind: kind, Version: newest, Payload: payload, Unique: kind + "/" + f.Name}, err
}

func readFilm(job *worker.Job) (film, error) {
	var f film
	if err := json.Unmarshal(job.Payload, &f); err != nil {
		return f, fmt.Errorf("payload of job %d: %w", job.Key, err)
	}
	if job.Version == 1 {
		f.Size = 120
	}
	return f, f.check()
}

// renderer is what the handlers work with.
type renderer struct {
	out     string // folder of all films
	self    string // the program that draws
	enqueue func(ctx context.Context, jobs ...redis.Job) ([]redis.Added, error)
}

// childGrace is how long a child that draws may take to end after SIGTERM.
const childGrace = 500 * time.Millisecond

// handlers are all that this worker can do. A gap is how long a handler may take from its
// cancellation to its return: that of a film has to end a child.
func handlers(r *renderer) *worker.Mux {
	mux := worker.NewMux()
	mux.Use(logged)
	mux.Handle("film", r.film, worker.Versions(oldest, newest), worker.Gap(childGrace+time.Second))
	mux.Handle("sheet", r.sheet, worker.Versions(oldest, newest), worker.Gap(2*time.Second))
	return mux
}

// film draws one frame after the other. A frame that is flushed is final: its file has its
// name, and the next execution, wherever it runs, goes on with the frame after it. It looks
// all the same whether the frames before are there: SIGKILL can come between the instant at
// which Redis has the cursor and the instant at which the file gets its name. There is no
// checkpoint, since Run and Flush heed ctx all the time.
func (r *renderer) film(ctx context.Context, job *worker.Job) error {
	f, err := readFilm(job)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(r.out, f.Name), 0o755); err != nil {
		return err
	}
	done := drawn(job.Cursor)
	for n := range f.Frames {
		if n < done && exists(r.frame(f, n)) {
			continue
		}
		if err := r.draw(ctx, job, f, n); err != nil {
			return err
		}
		done = max(done, n+1)
		if err := job.Flush(ctx, cursor(done)); err != nil {
			return err
		}
	}
	next, err := f.job("sheet")
	if err != nil {
		return err
	}
	if _, err := r.enqueue(ctx, next); err != nil {
		slog.Warn("the contact sheet is not asked for yet", "film", f.Name, "error", err)
		return worker.Yield // the film is not to blame; all of its frames are there when it comes back
	}
	return nil
}

// draw has a child process draw one frame into a staged file. Should the job be interrupted
// the child is ended and the file is gone; should this process be killed, its shim ends the
// child and the next life of the seat removes the file.
func (r *renderer) draw(ctx context.Context, job *worker.Job, f film, n int) error {
	out, err := job.Scope.Stage(r.frame(f, n))
	if err != nil {
		return err
	}
	if err := out.Chmod(0o644); err != nil {
		return err
	}
	cmd := proc.Command(ctx, job.Scope, r.self, "draw", "-frame", strconv.Itoa(n),
		"-frames", strconv.Itoa(f.Frames), "-size", strconv.Itoa(f.Size), "-pace", f.Pace.String())
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Grace = childGrace
	return cmd.Run()
}

// frame is where a frame of a film lies.
func (r *renderer) frame(f film, n int) string {
	return filepath.Join(r.out, f.Name, fmt.Sprintf("%04d.png", n+1))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// cursor says that so many frames are drawn.
func cursor(frames int) []byte { return binary.AppendUvarint(nil, uint64(frames)) }

// drawn reads a cursor; without one no frame is drawn.
func drawn(cursor []byte) int {
	n, _ := binary.Uvarint(cursor)
	return int(n)
}
