package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
	"github.com/quiesce/quiesce/realworld/redis"
)

// variable is the environment variable that makes a process a worker of a fleet. It holds
// what the worker is told.
const variable = "QUIESCE_FLEET_WORKER"

// queueName is the one queue of a fleet.
const queueName = "fleet"

// processConfig is all that a worker process is told. Durations are the scenario's.
type processConfig struct {
	Origin     int64            `json:"origin"` // of the scenario's time, in nanoseconds since 1970
	Speed      float64          `json:"speed"`
	Up         protocol.Instant `json:"up"` // when it begins to run
	Seat       int32            `json:"seat"`
	Generation uint32           `json:"generation"`
	Seed       uint64           `json:"seed"`
	Pauses     bool             `json:"pauses,omitempty"` // processes are made to stand still

	URL       string            `json:"url"`
	Namespace string            `json:"namespace"`
	Queue     redis.QueueConfig `json:"queue"` // in real time

	Slots     int               `json:"slots"`
	Policy    protocol.Policy   `json:"policy"`
	Lease     protocol.Duration `json:"lease"`
	Heartbeat protocol.Duration `json:"heartbeat"`
	Park      protocol.Duration `json:"park"`
	DriftPPM  int64             `json:"drift_ppm"`
	Grace     protocol.Duration `json:"grace"`
	Reserve   protocol.Duration `json:"reserve"`
	Kinds     []kindConfig      `json:"kinds"`
}

// kindConfig is a job kind and how its handler behaves; see model.Job.
type kindConfig struct {
	Name       string            `json:"name"`
	Checkpoint protocol.Duration `json:"checkpoint,omitempty"`
	Declared   protocol.Duration `json:"declared,omitempty"`
	Undo       protocol.Duration `json:"undo,omitempty"`
	Save       protocol.Duration `json:"save,omitempty"`
	Flush      bool              `json:"flush,omitempty"`
	Timeout    protocol.Duration `json:"timeout,omitempty"`
	MinVersion uint16            `json:"min_version"`
	MaxVersion uint16            `json:"max_version"`
	UndoFails  model.PPB         `json:"undo_fails,omitempty"`
	Deaf       model.PPB         `json:"deaf,omitempty"`
	Fails      model.PPB         `json:"fails,omitempty"`
	OOM        model.PPB         `json:"oom,omitempty"`
}

// chancy reports whether executions of the kind differ by chance.
func (k *kindConfig) chancy() bool { return k.UndoFails+k.Deaf+k.Fails+k.OOM > 0 }

func (k *kindConfig) model() model.Job {
	return model.Job{Name: k.Name, UndoFails: k.UndoFails, Deaf: k.Deaf, Fails: k.Fails, OOM: k.OOM}
}

// process is a worker process of a fleet, seen from inside.
type process struct {
	config processConfig
	clock  clock
	sink   sink
	queue  *redis.Queue
	fates  Fates
}

// Fate is how one execution of a job behaves.
type Fate struct {
	Deaf      bool   // it never looks for cancellation
	Fails     bool   // it reports an error when it comes to its end
	UndoFails bool   // its undo hooks fail
	OOM       bool   // it kills its process
	OOMPoint  uint64 // where: after so many 2^64ths of the work it has to do
}

// Fates draws how the executions of a run behave: the same for the same arguments, in every
// process. Executions of a job are counted from 1.
type Fates func(seed uint64, kind *model.Job, job protocol.JobKey, execution int) Fate

// Main makes this process a worker when a fleet has started it, and does not return then. It
// belongs at the beginning of main, or of TestMain.
func Main(fates Fates) {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	status, err := live(text, fates)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// live is the life of a worker process. It returns the status to exit with.
func live(text string, fates Fates) (status int, err error) {
	p := &process{fates: fates}
	if err := json.Unmarshal([]byte(text), &p.config); err != nil {
		return protocol.ExitRefused, fmt.Errorf("fleet: %s: %w", variable, err)
	}
	c := &p.config
	p.clock = newClock(c.Origin, c.Speed)
	p.sink.to = os.Stdout
	stops := realworld.NewStops()
	go hear(os.Stdin, stops)

	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	broker, err := redis.Open(context.Background(), redis.Options{
		URL: c.URL, Namespace: c.Namespace, Queues: []redis.QueueConfig{c.Queue}, Timeout: replyWithin, Logger: log, Client: frugal,
	})
	if err != nil {
		return protocol.ExitRefused, err
	}
	defer broker.Close()
	if p.queue, err = broker.Queue(queueName); err != nil {
		return protocol.ExitRefused, err
	}
	w, err := p.newWorker(paced{broker, c.Speed}, log)
	if err != nil {
		return protocol.ExitRefused, err
	}
	p.sink.put(fact{Kind: factOpen, At: p.clock.Now()})
	p.clock.sleep(c.Up)
	stops.Signals()
	p.sink.put(fact{Kind: factUp, At: p.clock.Now()})
	err = w.Run(context.Background(), stops.Events())
	var exit *worker.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.Status, nil
	case err != nil:
		return protocol.ExitRefused, err
	}
	return protocol.ExitClean, nil
}

// frugal makes connections small: there are a good many processes on one machine, and each
// asks little.
func frugal(o *rueidis.ClientOption) {
	o.PipelineMultiplex, o.RingScaleEachConn = -1, 6
	o.ReadBufferEachConn, o.WriteBufferEachConn = 16<<10, 16<<10
}

// replyWithin is how long an answer of Redis may take, in real time: the network does not
// run faster with the scenario.
const replyWithin = time.Second

func (p *process) newWorker(broker worker.Broker, log *slog.Logger) (*worker.Worker, error) {
	c := &p.config
	mux := worker.NewMux()
	for i := range c.Kinds {
		k := &c.Kinds[i]
		mux.Handle(k.Name, p.handler(k), worker.Versions(k.MinVersion, k.MaxVersion), worker.Gap(time.Duration(k.Declared)),
			worker.Undo(time.Duration(k.Undo+k.Undo/4)), worker.Timeout(time.Duration(k.Timeout)))
	}
	return worker.New(broker, mux, worker.Options{
		Seat: "seat-" + strconv.Itoa(int(c.Seat)), Generation: c.Generation, Queues: []string{queueName}, Slots: c.Slots,
		Grace: time.Duration(c.Grace), Reserve: time.Duration(c.Reserve),
		Lease: time.Duration(c.Lease), Heartbeat: time.Duration(c.Heartbeat), Park: time.Duration(c.Park),
		Reply: time.Duration(float64(replyWithin) * c.Speed), DriftPPM: c.DriftPPM, Policy: c.Policy,
		Logger: log, Observers: []worker.Observer{&watch{to: &p.sink}}, Clock: p.clock,
	})
}

// hear takes in what the supervisor says: notices of when SIGKILL will come. When the
// supervisor is gone so is the fleet.
func hear(from io.Reader, stops *realworld.Stops) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "notice "); ok {
			if n, err := strconv.ParseInt(at, 10, 64); err == nil {
				stops.Put(protocol.StopFrom(protocol.FromNotice, protocol.Instant(n)))
			}
		}
	}
	os.Exit(protocol.ExitAtOnce)
}
