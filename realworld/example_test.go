package realworld_test

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
)

// The main of a worker that uses all of it.
func Example() {
	var broker worker.Broker // for example redis.Open's
	mux := worker.NewMux()   // with the handlers

	if len(os.Args) > 1 && os.Args[1] == "prestop" { // the hook's command is this binary
		if _, err := realworld.Ask(context.Background(), "unix:/run/render/0.sock", "/prestop"); err != nil {
			log.Fatal(err)
		}
		return
	}
	seat, err := realworld.TakeSeat(context.Background(), "/var/lib/render", "render/0")
	if err != nil {
		log.Fatal(err)
	}
	defer seat.Close()
	if err := seat.UseForTemp(); err != nil {
		log.Fatal(err)
	}
	grace, err := realworld.Grace(30 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	w, err := worker.New(broker, mux, worker.Options{Seat: "render/0", Slots: 10, Grace: grace})
	if err != nil {
		log.Fatal(err)
	}

	stops := realworld.NewStops()
	defer stops.Close()
	realworld.Systemd(stops, w, realworld.SystemdOptions{})
	stops.Signals()
	stops.Learn(realworld.Pod{}.KillAt, func(err error) { slog.Info("the grace counts from the signal", "why", err) })
	endpoint, err := realworld.Listen("unix:/run/render/0.sock", w, stops, realworld.EndpointOptions{})
	if err != nil {
		log.Fatal(err)
	}
	err = w.Run(context.Background(), stops.Events())
	endpoint.Close() // whoever waits in /prestop gets the answer

	if exit := (*worker.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.Status) // the next start clears up after this one
	}
}
