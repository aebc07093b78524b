package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// generated is a file that is never in memory: write appends row i.
type generated struct {
	header string
	write  func(b []byte, i int) []byte
	rows   int

	at      int
	pending []byte
	buffer  []byte
}

func (g *generated) Read(p []byte) (int, error) {
	if len(g.pending) == 0 {
		g.buffer = g.buffer[:0]
		if g.at == 0 {
			g.buffer = append(g.buffer, g.header...)
		}
		for len(g.buffer) < 8<<10 && g.at < g.rows {
			g.buffer = g.write(g.buffer, g.at)
			g.at++
		}
		g.pending = g.buffer
	}
	if len(g.pending) == 0 {
		return 0, io.EOF
	}
	n := copy(p, g.pending)
	g.pending = g.pending[n:]
	return n, nil
}

var streams = map[string]generated{
	"CSV of seconds": {header: head, write: func(b []byte, i int) []byte {
		b = strconv.AppendInt(b, int64(i^3), 10) // Every other row is out of order.
		b = append(b, ".25,1.5,mail-"...)
		b = strconv.AppendInt(b, int64(i%100), 10)
		return append(b, '\n')
	}},
	"CSV of instants and Go durations": {header: head, write: func(b []byte, i int) []byte {
		b = time.Unix(1_700_000_000+int64(i), 0).UTC().AppendFormat(b, "2006-01-02T15:04:05.999")
		return append(b, "+05:30,1m30.5s,\"mail, \"\"urgent\"\"\"\n"...)
	}},
	"SWF": {write: func(b []byte, i int) []byte {
		b = append(b, "1 "...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, " -1 60 1 -1 -1 1 -1 -1 1 1 1 "...)
		b = strconv.AppendInt(b, int64(i%500), 10)
		return append(b, " -1 -1 -1 -1 {1, 2}\n"...)
	}},
}

// Allocations are counted, not timed, so the test says the same on every machine.
func TestAMillionRowsAllocateAlmostNothing(t *testing.T) {
	const rows = 1_000_000
	for name, g := range streams {
		t.Run(name, func(t *testing.T) {
			g.rows = rows
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, err := countJobs(&g)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			assert.Equal(t, rows, n)
			assert.Less(t, float64(after.Mallocs-before.Mallocs)/rows, 0.01, "allocations per row")
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes over the whole stream")
		})
	}
}

func countJobs(in io.Reader) (n int, err error) {
	r, err := NewReader("stream", in)
	if err != nil {
		return 0, err
	}
	for {
		_, err := r.Next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n++
	}
}

func BenchmarkReader(b *testing.B) {
	for name, stream := range streams {
		b.Run(name, func(b *testing.B) {
			g := stream // Run calls this several times, each needs an unread stream.
			g.rows = b.N
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.ResetTimer()
			n, err := countJobs(&g)
			b.StopTimer()
			runtime.ReadMemStats(&after)
			require.NoError(b, err)
			require.Equal(b, b.N, n)
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n), "allocs/row")
		})
	}
}

func FuzzReader(f *testing.F) {
	for _, file := range []string{"testdata/shop.csv", "testdata/shop-packed.csv.gz", "testdata/batch.swf"} {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add("a.csv", text)
		f.Add("a.swf", text)
	}
	for _, text := range []string{
		"arrival;duration\r\n\"1,5\";2\r\n", "Duration\tArrival\tKind\n1m\t2024-11-15T16:57:50+05:30\t\"a\nb\"\n",
		"arrival,duration\n2024-11-15 16:57:50,1\n", "arrival,duration\n1e999,NaN\n", "\ufeffarrival,duration\n-1,0x1\n",
		"arrival,duration,kind\n0,1,\"open\n", "arrivl,runtime\n", "[]", "\x1f\x8b", "a\"b\n", "\xff\xfe",
	} {
		f.Add("a", []byte(text))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		jobs, err := readWith(string(text), 8)
		checkStream(t, jobs, err)
		name = strings.ReplaceAll(name, "\n", "") // checkStream counts the lines of the error.
		jobs, err = readAll(name, string(text))
		checkStream(t, jobs, err)
	})
}

// checkStream holds what the package doc promises of any input.
func checkStream(t *testing.T, jobs []Job, err error) {
	var last Job
	for i, job := range jobs {
		require.GreaterOrEqual(t, job.Arrival, last.Arrival, "arrivals never decrease")
		require.LessOrEqual(t, job.Arrival, maxSpan)
		require.GreaterOrEqual(t, job.Duration, time.Duration(0))
		require.LessOrEqual(t, job.Duration, maxSpan)
		require.NotEmpty(t, job.Kind)
		require.Positive(t, job.Line)
		if i == 0 {
			require.Zero(t, job.Arrival, "the first job arrives at zero")
		}
		last = job
	}
	if err == nil {
		require.NotEmpty(t, jobs, "a trace without jobs is an error")
		return
	}
	var e *Error
	require.True(t, errors.As(err, &e), "error %v is no *Error", err)
	require.NotEmpty(t, e.Problem)
	require.NotEmpty(t, e.Remedy)
	require.True(t, strings.HasPrefix(fmt.Sprint(e), e.File))
	lines := strings.Split(e.Error(), "\n")
	for _, shown := range lines[1:] {
		require.LessOrEqual(t, len([]rune(shown)), 1+excerptRunes+2, "the excerpt is short")
	}
}
