package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/internal/crew"
	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
)

// Broker is a worker.Broker on Redis, for any number of workers. It is safe for concurrent
// use.
type Broker struct {
	opt     Options
	client  rueidis.Client
	scripts *scripts
	queues  map[string]*Queue
	numbers map[int]*Queue
	seats   []string // keys of register
	stored  int      // schema of what is stored, at Open

	mu        sync.Mutex
	lives     map[uint64]worker.Life // registered here, or asked after
	going     map[going]bool
	inquiries map[going]*inquiry // of the newest claim requests to queues of several partitions
	parked    []*parking         // claims that wait, in the order in which they began to
	claiming  int                // claims under way, those included
	scattered []*post            // in several parts, not known to be over
	lastKind  atomic.Value       // a string: the kind of the job read last
	rotator   atomic.Uint32

	way  way
	crew crew.Crew // who makes the calls of lanes
}

// going names a life that has said to a queue that it will stop.
type going struct {
	incarnation uint64
	queue       string
}

var _ worker.Broker = (*Broker)(nil)

// Open connects to Redis and makes the queues known. Options that cannot work are refused,
// each problem with its numbers, and so is a schema that this build does not know.
func Open(ctx context.Context, options Options) (*Broker, error) {
	opt, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	clientOption, err := parseURL(opt.URL)
	if err != nil {
		return nil, err
	}
	// Every call is one attempt: retries are the protocol's. Nothing is read twice, so a
	// client's cache has nothing to do.
	clientOption.DisableRetry, clientOption.DisableCache = true, true
	if clientOption.Dialer.KeepAlive == 0 {
		clientOption.Dialer.KeepAlive = keepAlive
	}
	if opt.Client != nil {
		opt.Client(&clientOption)
	}
	b := &Broker{
		opt: opt, scripts: newScripts(opt.clock, opt.schema),
		queues: map[string]*Queue{}, numbers: map[int]*Queue{}, lives: map[uint64]worker.Life{}, going: map[going]bool{}, inquiries: map[going]*inquiry{},
	}
	b.way.over, b.way.close = context.WithCancel(context.Background())
	b.crew = crew.New(b.way.over.Done())
	b.watch(&clientOption)
	if b.client, err = rueidis.NewClient(clientOption); err != nil {
		b.way.close()
		return nil, withRemedy(fmt.Errorf("redis: %w", err))
	}
	for _, q := range opt.Queues {
		if err := b.openQueue(ctx, q); err != nil {
			b.Close()
			return nil, withRemedy(err)
		}
	}
	b.scripts = newScripts(opt.clock, b.stored)
	if b.stored < opt.schema {
		opt.Logger.Info("redis: what is stored has an older schema; call Broker.Upgrade once no older build runs", "stored", b.stored, "known", opt.schema)
	}
	b.checkEviction(ctx)
	return b, nil
}

// checkEviction warns of a server that throws keys away when its memory is full. Servers that
// do not let it look are believed.
func (b *Broker) checkEviction(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Timeout)
	defer cancel()
	info, err := b.client.Do(ctx, b.client.B().Info().Section("memory").Build()).ToString()
	if err != nil {
		return
	}
	if _, rest, ok := strings.Cut(info, "maxmemory_policy:"); ok {
		if policy, _, _ := strings.Cut(rest, "\r"); policy != "noeviction" {
			b.opt.Logger.Warn("redis: the server may throw jobs away when its memory is full; set maxmemory-policy noeviction", "maxmemory-policy", policy)
		}
	}
}

func (b *Broker) openQueue(ctx context.Context, cfg QueueConfig) error {
	ctx, cancel := context.WithTimeout(ctx, b.opt.Timeout)
	defer cancel()
	var queues string
	queues, b.seats = globalKeys(b.opt.Namespace)
	got, err := b.run(ctx, &b.scripts.open, []string{queues},
		[]string{strconv.Itoa(b.opt.schema), cfg.Name, strconv.Itoa(numberFor(cfg.Name)), strconv.Itoa(cfg.Partitions)}).AsStrSlice()
	if err != nil {
		return fmt.Errorf("redis: opening queue %q: %w", cfg.Name, err)
	}
	if b.stored, _ = strconv.Atoi(got[0]); len(got) < 3 {
		return &SchemaError{Stored: b.stored, Known: b.opt.schema}
	}
	number, _ := strconv.Atoi(got[1])
	if number == 0 {
		return fmt.Errorf("redis: queue %q: the namespace %q has its %d queues already; use another namespace", cfg.Name, b.opt.Namespace, MaxQueues)
	}
	partitions, _ := strconv.Atoi(got[2])
	q := &Queue{broker: b, config: cfg, number: number, policy: cfg.policy()}
	for i := range partitions {
		p := &partition{queue: q, number: i, keys: partitionKeys(b.opt.Namespace, cfg.Name, i)}
		p.lane.partition = p
		q.partitions = append(q.partitions, p)
	}
	b.queues[cfg.Name], b.numbers[number] = q, q
	return nil
}

// longestClose bounds Close: the client says goodbye to each server and waits for its answer,
// which a silent one keeps for seconds that a short grace does not have.
const longestClose = 100 * time.Millisecond

// Close ends the connections, and does not wait for a server that is silent. Calls that are out
// end with an error.
func (b *Broker) Close() {
	b.way.close()
	closed := make(chan struct{})
	go func() {
		b.client.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(longestClose):
	}
}

// Capabilities are all there are. The lease is known when all queues have the same.
func (b *Broker) Capabilities() worker.Capabilities {
	lease := b.opt.Queues[0].Lease
	for _, q := range b.opt.Queues {
		if q.Lease != lease {
			return worker.Capabilities{}
		}
	}
	return worker.Capabilities{Lease: lease}
}

// Queue returns a queue that was named in the options.
func (b *Broker) Queue(name string) (*Queue, error) {
	if q := b.queues[name]; q != nil {
		return q, nil
	}
	return nil, fmt.Errorf("redis: queue %q is not among the broker's: %w", name, worker.ErrRefused)
}

// Register makes a life of a worker known, and introduces it to every queue.
func (b *Broker) Register(ctx context.Context, life worker.Life) (uint64, error) {
	first, cancel := context.WithTimeout(ctx, b.opt.Timeout)
	defer cancel()
	s, err := b.run(first, &b.scripts.register, b.seats, []string{life.Nonce.String(), life.Seat}).ToString()
	if err != nil {
		return 0, fmt.Errorf("redis: register: %w", err)
	}
	incarnation, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("redis: register: incarnation %q: %w", s, err)
	}
	b.mu.Lock()
	b.lives[incarnation] = life
	b.mu.Unlock()
	for _, q := range b.queues {
		failed := q.each(func(p *partition) error {
			if _, err := p.introduce(ctx, incarnation); err != nil {
				return err
			}
			_, err := p.mend(ctx, "claims")
			return err
		})
		// Those that do not answer are told when they are asked for jobs.
		if err := q.missing(failed); err != nil && (len(failed) == len(q.partitions) || errors.Is(err, worker.ErrRefused)) {
			return 0, err
		}
	}
	return incarnation, nil
}

// mend looks through a partition's claims or jobs for what fell between the keys.
func (p *partition) mend(ctx context.Context, which string) (found int, err error) {
	for cursor, more := "0", true; more; more = cursor != "0" {
		reply, err := p.run(ctx, &p.queue.broker.scripts.mend, which, cursor).ToArray()
		if err != nil {
			return found, fmt.Errorf("redis: mend: %w", err)
		}
		f := &fields{parts: reply}
		cursor = f.text()
		found += f.int()
		if f.err != nil {
			return found, fmt.Errorf("redis: mend: %w", f.err)
		}
	}
	if found > 0 {
		p.queue.broker.opt.Logger.Warn("redis: jobs were claimed without a lease, or nowhere, and are claimable again; did somebody delete keys?",
			"queue", p.queue.config.Name, "partition", p.number, "jobs", found)
	}
	return found, nil
}

// introduce makes a life known to a partition; it is false for one that two newer lives of
// its seat have superseded, or that this broker knows nothing of.
func (p *partition) introduce(ctx context.Context, incarnation uint64) (bool, error) {
	b := p.queue.broker
	b.mu.Lock()
	life, known := b.lives[incarnation]
	b.mu.Unlock()
	if !known {
		return false, nil
	}
	n, err := p.run(ctx, &b.scripts.introduce, strconv.FormatUint(incarnation, 10), strconv.FormatUint(uint64(life.Generation), 10), life.Seat,
		strconv.Itoa(b.opt.schema)).AsInt64()
	if err != nil {
		return false, fmt.Errorf("redis: introduce: %w", err)
	}
	if n < 0 {
		return false, &SchemaError{Stored: int(-n), Known: b.opt.schema}
	}
	return n == 1, nil
}

// Going says that an incarnation will stop.
func (b *Broker) Going(ctx context.Context, incarnation uint64, queue string) error {
	q, err := b.Queue(queue)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.going[going{incarnation, queue}] = true
	b.mu.Unlock()
	failed := q.each(func(p *partition) error {
		if err := p.run(ctx, &b.scripts.going, strconv.FormatUint(incarnation, 10)).Error(); err != nil {
			return fmt.Errorf("redis: going: %w", err)
		}
		return p.repay(ctx, incarnation, math.MaxUint64)
	})
	b.poke(incarnation, queue, math.MaxUint64)
	return q.missing(failed)
}

// Abandon is for who knows for certain that a worker is dead with everything it started, as
// a parent does that has reaped it: it ends the leases of its claims, so that a crash costs
// no lease. It counts as their expiry, and gives the incarnation no new claims. It returns
// how many claims the dead held.
func (b *Broker) Abandon(ctx context.Context, incarnation uint64, queue string) (claims int, err error) {
	q, err := b.Queue(queue)
	if err != nil {
		return 0, err
	}
	var held atomic.Int64
	failed := q.each(func(p *partition) error {
		n, err := p.run(ctx, &b.scripts.abandon, strconv.FormatUint(incarnation, 10)).AsInt64()
		if err != nil {
			return fmt.Errorf("redis: abandon: %w", err)
		}
		held.Add(n)
		return nil
	})
	return int(held.Load()), q.missing(failed)
}

// of returns the partition that a job is in.
func (b *Broker) of(job protocol.JobKey) *partition {
	number, partition, _ := split(job)
	if q := b.numbers[number]; q != nil && partition < len(q.partitions) {
		return q.partitions[partition]
	}
	return nil
}

// partition is one hash slot's share of a queue.
type partition struct {
	queue  *Queue
	number int
	keys   []string
	lane   lane

	absence absence
}

// run executes one of a partition's scripts.
func (p *partition) run(ctx context.Context, s *script, args ...string) rueidis.RedisResult {
	ctx, cancel := context.WithTimeout(ctx, p.queue.broker.opt.Timeout)
	defer cancel()
	return p.queue.broker.run(ctx, s, p.keys, append([]string{p.queue.policy}, args...))
}

// codes are the letters in which scripts answer.
func codeOf(letter byte) protocol.Code {
	switch letter {
	case 'o':
		return protocol.OK
	case 'r':
		return protocol.Repeat
	case 'e':
		return protocol.Expired
	case 'c':
		return protocol.Closed
	case 'x':
		return protocol.CancelOrder
	default:
		return protocol.Stale
	}
}
