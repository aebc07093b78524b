package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
)

// seatVar makes the test's own binary a worker of this seat; the others say of which build and where.
const (
	seatVar      = "QUIESCE_TEST_SEAT"
	schemaVar    = "QUIESCE_TEST_SCHEMA"
	urlVar       = "QUIESCE_TEST_URL"
	namespaceVar = "QUIESCE_TEST_NAMESPACE"
)

// deployed are the options of a build with a schema, which from 8 on stores something new.
func deployed(url, namespace string, schema int) Options {
	return Options{
		URL: url, Namespace: namespace, Logger: slog.New(slog.DiscardHandler), schema: schema,
		clock:  serverClock + fmt.Sprintf("; if SCHEMA >= 8 then redis.call('HSET', KEYS[1], 'layout', '%d') end", schema),
		Queues: []QueueConfig{{Name: "q", Lease: 2 * time.Second, Poison: 10}},
	}
}

// runBuild is a worker's main. A job takes until the file that it names is there.
func runBuild(seat string) error {
	schema, err := strconv.Atoi(os.Getenv(schemaVar))
	if err != nil {
		return err
	}
	b, err := Open(context.Background(), deployed(os.Getenv(urlVar), os.Getenv(namespaceVar), schema))
	if err != nil {
		return err
	}
	mux := worker.NewMux()
	mux.Handle("k", func(ctx context.Context, job *worker.Job) error {
		for {
			if _, err := os.Stat(string(job.Payload)); err == nil {
				return nil
			}
			if err := job.Sleep(ctx, 5*time.Millisecond); err != nil {
				return err
			}
		}
	}, worker.Undo(100*time.Millisecond))
	w, err := worker.New(b, mux, worker.Options{Seat: seat, Slots: 2, Queues: []string{"q"}, Grace: time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	go func() {
		for !w.Ready() {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("up")
	}()
	return w.Run(context.Background(), realworld.Signals())
}

// pod is such a worker as its supervisor sees it.
type pod struct {
	*exec.Cmd
	t    *testing.T
	said *bufio.Reader
}

func startPod(t *testing.T, url, namespace, seat string, schema int) *pod {
	p := &pod{Cmd: exec.Command(os.Args[0]), t: t}
	p.Env = append(os.Environ(), seatVar+"="+seat, schemaVar+"="+strconv.Itoa(schema), urlVar+"="+url, namespaceVar+"="+namespace)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, out.SetReadDeadline(time.Now().Add(time.Minute))) // instead of hanging for ever
	p.Stdout, p.Stderr = in, in
	require.NoError(t, p.Start())
	in.Close()
	p.said = bufio.NewReader(out)
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
		out.Close()
	})
	return p
}

// up waits until it claims jobs.
func (p *pod) up() {
	p.t.Helper()
	line, err := p.said.ReadString('\n')
	require.NoError(p.t, err, "%s", line)
	require.Equal(p.t, "up\n", line)
}

// end sends a signal, if there is one, and returns the status and what was said last.
func (p *pod) end(s syscall.Signal) (status int, said string) {
	p.t.Helper()
	if s != 0 {
		require.NoError(p.t, p.Process.Signal(s))
	}
	text, err := io.ReadAll(p.said)
	require.NoError(p.t, err)
	_ = p.Wait()
	return p.ProcessState.ExitCode(), string(text)
}

// Three workers of one build are replaced by three of the next, whose schema is newer, while jobs
// run. Two are told to stop and one is killed; no job notices.
func TestARollingDeployOfANewerSchema(t *testing.T) {
	t.Parallel()
	url, namespace := onServer(t)
	const old, newer = 7, 8
	open := func(schema int) *Broker {
		b, err := Open(t.Context(), deployed(url, namespace, schema))
		require.NoError(t, err)
		t.Cleanup(b.Close)
		return b
	}
	before, after := open(old), open(newer)
	queues := map[int]*Queue{}
	for schema, b := range map[int]*Broker{old: before, newer: after} {
		q, err := b.Queue("q")
		require.NoError(t, err)
		queues[schema] = q
	}
	now, later := os.Args[0], filepath.Join(t.TempDir(), "later") // a file that is there, and one that is not yet
	enqueued := 0
	enqueue := func(schema, n int, until string) {
		jobs := make([]Job, n)
		for i := range jobs {
			jobs[i] = Job{Kind: "k", Payload: []byte(until)}
		}
		_, err := queues[schema].Enqueue(t.Context(), jobs...)
		require.NoError(t, err)
		enqueued += n
	}
	stats := func() Stats {
		s, err := queues[newer].Stats(t.Context())
		require.NoError(t, err)
		return s
	}

	enqueue(old, 6, later)
	var pods []*pod
	for i := range 3 {
		pods = append(pods, startPod(t, url, namespace, fmt.Sprintf("old-%d", i), old))
	}
	require.Eventually(t, func() bool { return stats().Claimed == 6 }, 20*time.Second, 5*time.Millisecond)
	for i := range 3 {
		enqueue(newer, 10, now)
		enqueue(old, 10, now)
		next := startPod(t, url, namespace, fmt.Sprintf("new-%d", i), newer)
		next.up()
		pods = append(pods, next)
		if i == 1 {
			status, _ := pods[i].end(syscall.SIGKILL)
			require.Equal(t, -1, status)
			continue
		}
		status, said := pods[i].end(syscall.SIGTERM)
		require.Equal(t, 0, status, said)
	}
	ok, err := before.client.Do(t.Context(), before.client.B().Hexists().Key(queues[old].partitions[0].keys[0]).Field("layout").Build()).AsBool()
	require.NoError(t, err)
	assert.False(t, ok, "as long as the deploy can be rolled back, the older build can read everything")

	var about *OlderBuildsError
	require.ErrorAs(t, after.Upgrade(t.Context()), &about)
	assert.Equal(t, []string{"old-1"}, about.Seats, "nobody knows that it was killed, and the others have said that they go")

	require.NoError(t, os.WriteFile(later, nil, 0o600))
	require.Eventually(t, func() bool { return stats().Total.Done == enqueued }, 30*time.Second, 5*time.Millisecond, "not every job was done")
	s := stats()
	assert.Zero(t, s.Ready+s.Delayed+s.Claimed+s.Dead+s.Quarantined)
	assert.Zero(t, s.Total.Failed)
	assert.Positive(t, s.Total.Released, "two workers handed back what they ran,")
	assert.GreaterOrEqual(t, s.Total.Expired, 2, "and one was killed")
	for _, p := range pods[3:] {
		status, said := p.end(syscall.SIGTERM)
		assert.Equal(t, 0, status, said)
	}
	status, said := startPod(t, url, namespace, "newest", 9).end(0)
	assert.Equal(t, 1, status)
	assert.Contains(t, said, (&SchemaError{Stored: old, Known: 9}).Error(), "a build in between is needed")
}

// mainOfBuild is the main of a worker, where the binary was started as one.
func mainOfBuild() {
	seat := os.Getenv(seatVar)
	if seat == "" {
		return
	}
	err := runBuild(seat)
	if exit := (*worker.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		fmt.Println(err)
	}
	os.Exit(worker.ExitStatus(err))
}
