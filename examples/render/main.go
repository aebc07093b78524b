// Command render is a whole worker, small enough to be read in one go and meant to be copied
// from. It makes films of a fractal: one job for each film, one child process for each frame.
//
//	render                     the worker: everything in work.go
//	render enqueue NAME...     asks for films
//	render look                counts what is in the queue
//	render prestop             the preStop hook: begins the drain of the worker next door, and waits
//	render draw ...            the child process: one frame, as PNG, on stdout
//
// README.md beside it takes ten minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/redis"
)

func main() { os.Exit(run(os.Args[1:])) }

// errUsage reports words that make no command.
var errUsage = errors.New("bad usage")

// run carries out one command and returns the status to exit with.
func run(args []string) int {
	command := "work"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		command, args = args[0], args[1:]
	}
	c, rest, err := parse(command, args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		switch command {
		case "work":
			return work(c, handlers)
		case "enqueue":
			err = enqueue(context.Background(), c, rest)
		case "look":
			err = look(context.Background(), c)
		case "prestop":
			_, err = realworld.Ask(context.Background(), c.endpoint(), "/prestop")
		case "draw":
			err = drawTo(os.Stdout, c.film, c.frame)
		}
	}
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "render:", err)
		return 2
	case err != nil:
		fmt.Fprintln(os.Stderr, "render:", err)
		return 1
	}
	return 0
}

// config is what the flags say. The address of Redis and the grace come from the environment
// where that is set: QUIESCE_REDIS, since it may hold a password, and QUIESCE_GRACE, since
// whoever writes the manifest knows it.
type config struct {
	redis     string
	lease     time.Duration
	slots     int
	grace     time.Duration
	seat      string
	state     string
	out       string
	listen    string
	lastWords string

	film  film
	frame int
}

// parse reads the flags of a command and returns what follows them.
func parse(command string, args []string) (config, []string, error) {
	c := config{redis: os.Getenv("QUIESCE_REDIS")}
	if c.redis == "" {
		c.redis = "redis://localhost:6379"
	}
	name := "render " + command
	if command == "work" {
		name = "render"
	}
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.DurationVar(&c.lease, "lease", 15*time.Second, "how long a job stays with a worker that is not heard of; the same everywhere")
	f.StringVar(&c.seat, "seat", "0", "which of the workers of this host it is")
	f.StringVar(&c.state, "state", "state", "folder for socket, seat and flight recordings; outlives the process")
	switch command {
	case "work":
		f.IntVar(&c.slots, "slots", 4, "jobs at once")
		f.DurationVar(&c.grace, "grace", 30*time.Second, "time between SIGTERM and SIGKILL, unless QUIESCE_GRACE says it")
		f.StringVar(&c.out, "out", "films", "folder for the films")
		f.StringVar(&c.listen, "listen", "", "address for /readyz, /healthz and /metrics, such as :9090")
		f.StringVar(&c.lastWords, "last-words", "", "file for a line about the drain, such as /dev/termination-log")
	case "draw":
		f.IntVar(&c.frame, "frame", 0, "which frame to draw, from 0")
		fallthrough
	case "enqueue":
		f.IntVar(&c.film.Frames, "frames", 12, "of a film")
		f.IntVar(&c.film.Size, "size", 240, "of a frame, in pixels")
		f.DurationVar(&c.film.Pace, "pace", time.Second, "how long a frame takes at least")
	case "look", "prestop":
	default:
		return c, nil, fmt.Errorf("%w: there is no command %q; write render, or render enqueue, look, prestop or draw", errUsage, command)
	}
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Printf("Usage of %s:\n", name)
		f.SetOutput(os.Stdout)
		f.PrintDefaults()
		return c, nil, err
	case err != nil:
		return c, nil, fmt.Errorf("%w: %w; %s -h lists what there is", errUsage, err, name)
	case c.seat == "" || strings.ContainsAny(c.seat, `/\`):
		return c, nil, fmt.Errorf("%w: -seat %q names files; write a name without slashes, such as 0", errUsage, c.seat)
	case command == "work" && c.slots < 1:
		return c, nil, fmt.Errorf("%w: with -slots %d no job would be run; write 1 or more", errUsage, c.slots)
	case command != "enqueue" && f.NArg() > 0:
		return c, nil, fmt.Errorf("%w: %s takes flags only, and there is %q", errUsage, name, f.Arg(0))
	}
	return c, f.Args(), nil
}

// endpoint is where the worker of a seat takes orders.
func (c *config) endpoint() string { return "unix:" + filepath.Join(c.state, c.seat+".sock") }

// queues is how the queue is set. Processes that share it should agree, so it stands here.
func (c *config) queues() []redis.QueueConfig {
	return []redis.QueueConfig{{Name: queueName, Lease: c.lease}}
}

const queueName = "films"
