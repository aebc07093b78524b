// Command simulate measures what each way of stopping job workers costs.
//
//	simulate compare                                  policies side by side, in the default scenario
//	simulate compare --jobs TRACE --manifest FILE     the same on real input
//	simulate compare --queue asynq,bullmq             real queues as they are today, beside hybrid
//	simulate compare --shard I/N --out DIR            one of N parts of it, for another machine
//	simulate merge FILES                              the parts put together
//	simulate run SCENARIO --policy P --seed N         one run in full
//	simulate replay --seed N SCENARIO --policy P      step through it
//	simulate replay RECORDING                         step through what a worker in production did
//	simulate fleet SCENARIO                           the same with real processes and a real Redis
//	simulate calibrate SCENARIO                       what real processes and Redis take, as lines of a scenario
//	simulate curves [SCENARIO] --vary PATH=RANGE      stall, delay and redone work over a setting, as figures
//	simulate explore [WORLD]                          small worlds searched completely, in every order
//	simulate hunt [--for 10m]                         random small worlds, until one breaks a promise
//	simulate selftest                                 every known mistake built in, and what notices it
//	simulate explain FINDING                          what a finding hangs on
//	simulate check MANIFEST...                        what in manifests keeps workers from coming to rest
//	simulate advise --manifest FILE --jobs TRACE      what deploys cost there, what to change, the lines to write
//	simulate import TRACE                             any job trace as CSV, and what is in it
//	simulate scenarios [list|show NAME|schema]
//	simulate guard -- COMMAND                         start a worker and stand by it
//	simulate version
//
// Results go to stdout; progress goes to stderr, and only when that is a terminal. The exit
// status is 0 when all is well, 1 when a promise of the protocol was seen to be broken by a way
// of stopping that has no fault built in, a manifest holds what cannot work, or a run was
// stopped before its end, and 2 for bad usage or input, which leaves stdout empty and writes no
// file. That of guard is the worker's.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/quiesce/quiesce/realworld/fleet"
)

func main() {
	fleet.Main(fates) // a worker process of simulate fleet goes no further
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // under nohup it is, and stays so
		stops = append(stops, syscall.SIGHUP) // a terminal that is gone ends what it began, and not halfway
	}
	ctx, stop := signal.NotifyContext(context.Background(), stops...)
	// The first signal stops cleanly. It also gives signals their usual effect back, so that
	// a second one ends the process at once, whatever it is doing.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
