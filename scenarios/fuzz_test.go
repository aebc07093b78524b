package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/protocol"
)

// FuzzParse feeds the decoder with everything but names of other files, which would let the
// fuzzer read what it must not.
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		data, err := Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, c := range refused {
		f.Add(strings.Replace(c.text, "¦", "", 1))
		f.Add(complete(strings.Replace(c.text, "¦", "", 1)))
	}
	f.Add(everyKey)
	f.Add("a: &a {b: *a}\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, word := range []string{"trace", "manifest", "empirical", "\\"} {
			if strings.Contains(text, word) {
				t.Skip()
			}
		}
		s, err := Parse("s.yaml", []byte(text))
		if err != nil {
			var typed *Error
			if assert.ErrorAs(t, err, &typed) {
				assert.NotEmpty(t, typed.Problem)
				assert.NotEmpty(t, typed.Error())
			}
			return
		}
		assert.Positive(t, s.Duration)
		assert.Less(t, s.Warmup, s.Duration)
		assert.Positive(t, s.Fleet.Workers)
		assert.Positive(t, s.Fleet.Slots)
		assert.Positive(t, s.Queue.Heartbeat)
		q := protocol.Config{Lease: s.Queue.Lease, Margin: s.Queue.Margin, DriftPPM: s.Queue.DriftPPM}
		assert.Less(t, s.Queue.Heartbeat, q.Trusted())
		assert.NotNil(t, s.Fleet.Start)
		assert.NotNil(t, s.Faults.Network.Latency)
		assert.NotNil(t, s.Faults.Pause.Length)
		assert.NotNil(t, s.Faults.Partition.Length)
		assert.NotNil(t, s.Faults.Slow.Length)
		assert.NotEmpty(t, s.Policies)
		assert.NotEmpty(t, s.Jobs)
		for _, j := range s.Jobs {
			if assert.NotNil(t, j.Arrivals) {
				assert.Positive(t, j.Arrivals.Max())
			}
			assert.NotNil(t, j.Work)
			assert.Positive(t, j.Checkpoint)
		}
	})
}
