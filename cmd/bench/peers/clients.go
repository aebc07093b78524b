package main

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	"encoding/hex"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// turn has the shape of the script with which a worker settles and claims: as many keys, for
// each job an id and a token to ack, and an answer of ids and records of 100 bytes. It does no
// work of its own, so what differs is the client.
const turn = `#!lua flags=no-writes
local ids, records, record = {}, {}, string.rep('x', 100)
for i = 1, tonumber(ARGV[2]) do
  ids[i], records[i] = ARGV[8 + 2 * i], record
end
return { string.rep('o', #ids), 'ok', '0', '1764460000000000', ids, records, {} }`

// caller makes one turn of n jobs and reads what it answered, as the broker does.
type caller interface {
	turn(ctx context.Context, keys, args []string, n int) error
	close()
}

// clients compares Redis clients on the turn, in short rounds that take turns themselves, so
// that what else the machine does meets both. For each size it prints the medians over the
// rounds: of each client's figures, and of the ratio within a round, with its quartiles.
func clients(ctx context.Context, server string, rounds int) error {
	network, address := "tcp", server
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		network, address = "unix", path
	}
	r, err := newRueidis(network, address)
	if err != nil {
		return err
	}
	defer r.close()
	g := newGoRedis(network, address)
	defer g.close()
	for _, size := range []struct{ jobs, inFlight int }{{1, 1}, {1, 50}, {10, 1}, {100, 1}, {100, 2}, {1000, 1}} {
		var calls, cpu [2][]float64
		var faster, cheaper []float64
		for round := range rounds {
			for k := range 2 {
				i := (round + k) % 2
				s, err := measure(ctx, []caller{r, g}[i], size.jobs, size.inFlight)
				if err != nil {
					return err
				}
				calls[i] = append(calls[i], float64(s.calls)/s.wall.Seconds())
				cpu[i] = append(cpu[i], s.cpu.Seconds()*1e6/float64(s.calls))
			}
			faster = append(faster, calls[0][round]/calls[1][round])
			cheaper = append(cheaper, cpu[0][round]/cpu[1][round])
		}
		if err := print(map[string]any{
			"jobs": size.jobs, "in_flight": size.inFlight,
			"rueidis_calls_per_second": at(calls[0], 0.5), "goredis_calls_per_second": at(calls[1], 0.5),
			"rueidis_cpu_us": at(cpu[0], 0.5), "goredis_cpu_us": at(cpu[1], 0.5),
			"calls_ratio": []float64{at(faster, 0.25), at(faster, 0.5), at(faster, 0.75)},
			"cpu_ratio":   []float64{at(cheaper, 0.25), at(cheaper, 0.5), at(cheaper, 0.75)},
		}); err != nil {
			return err
		}
	}
	return nil
}

// at is a quantile.
func at(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}

type spent struct {
	calls     int64
	wall, cpu time.Duration
}

// measure makes turns for a twentieth of a second.
func measure(ctx context.Context, c caller, jobs, inFlight int) (spent, error) {
	keys := make([]string, 22)
	for i := range keys {
		keys[i] = "quiesce:{default/0}:key-" + strconv.Itoa(i)
	}
	args := append([]string{"300000000 25 3 10 0 15000000 86400000000", strconv.Itoa(jobs), "0", "1764460000000000", "17", strconv.Itoa(jobs), "20000000", "0", "render\t1\t9\n"}, make([]string, 2*jobs)...)
	for i := range jobs {
		args[9+2*i], args[10+2*i] = strconv.Itoa(1_000_000+i), "1764460000000000"
	}
	if err := c.turn(ctx, keys, args, jobs); err != nil { // the server knows the script now
		return spent{}, err
	}
	var (
		calls  atomic.Int64
		wait   sync.WaitGroup
		failed = make(chan error, inFlight)
		began  = time.Now()
		cpu    = ownCPU()
	)
	for range inFlight {
		wait.Go(func() {
			for time.Since(began) < 50*time.Millisecond {
				if err := c.turn(ctx, keys, args, jobs); err != nil {
					failed <- err
					return
				}
				calls.Add(1)
			}
		})
	}
	wait.Wait()
	s := spent{calls.Load(), time.Since(began), ownCPU() - cpu}
	select {
	case err := <-failed:
		return s, err
	default:
		return s, nil
	}
}

var errAnswer = errors.New("an answer of another size")

func turnSHA() string {
	sum := sha1.Sum([]byte(turn)) //nolint:gosec // Redis names scripts so
	return hex.EncodeToString(sum[:])
}

type viaRueidis struct {
	client rueidis.Client
	sha    string
}

func newRueidis(network, address string) (*viaRueidis, error) {
	o := rueidis.ClientOption{InitAddress: []string{address}, DisableCache: true, DisableRetry: true, ForceSingleClient: true}
	if network == "unix" {
		parsed, err := rueidis.ParseURL("unix://" + address)
		if err != nil {
			return nil, err
		}
		o.DialCtxFn, o.InitAddress = parsed.DialCtxFn, parsed.InitAddress
	}
	client, err := rueidis.NewClient(o)
	return &viaRueidis{client, turnSHA()}, err
}

func (v *viaRueidis) close() { v.client.Close() }

func (v *viaRueidis) turn(ctx context.Context, keys, args []string, n int) error {
	r := v.client.Do(ctx, v.client.B().Evalsha().Sha1(v.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	if err, ok := rueidis.IsRedisErr(r.Error()); ok && err.IsNoScript() {
		r = v.client.Do(ctx, v.client.B().Eval().Script(turn).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	}
	parts, err := r.ToArray()
	if err != nil {
		return err
	}
	ids, err := parts[4].ToArray()
	if err != nil {
		return err
	}
	records, err := parts[5].ToArray()
	if err != nil {
		return err
	}
	for i := range ids {
		if _, err := ids[i].AsUint64(); err != nil {
			return err
		}
		if b, err := records[i].AsBytes(); err != nil || len(b) != 100 {
			return errors.Join(err, errAnswer)
		}
	}
	if len(ids) != n {
		return errAnswer
	}
	return nil
}

type viaGoRedis struct {
	client *goredis.Client
	sha    string
}

func newGoRedis(network, address string) *viaGoRedis {
	return &viaGoRedis{goredis.NewClient(&goredis.Options{Network: network, Addr: address, MaxRetries: -1, PoolSize: 64, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}}), turnSHA()}
}

func (v *viaGoRedis) close() { _ = v.client.Close() }

func (v *viaGoRedis) turn(ctx context.Context, keys, args []string, n int) error {
	list := make([]any, len(args))
	for i := range args {
		list[i] = args[i]
	}
	r, err := v.client.EvalSha(ctx, v.sha, keys, list...).Slice()
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		r, err = v.client.Eval(ctx, turn, keys, list...).Slice()
	}
	if err != nil {
		return err
	}
	ids, _ := r[4].([]any)
	records, _ := r[5].([]any)
	for i := range ids {
		id, _ := ids[i].(string)
		if _, err := strconv.ParseUint(id, 10, 64); err != nil {
			return err
		}
		if record, _ := records[i].(string); len([]byte(record)) != 100 {
			return errAnswer
		}
	}
	if len(ids) != n {
		return errAnswer
	}
	return nil
}
