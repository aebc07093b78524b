package protocol

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// restored returns what a snapshot of m is read back as, in memory that was used before.
func restored(m *Machine) *Machine {
	mem := NewMemory(m.cfg, len(m.slots))
	for i := range mem.Slots {
		mem.Slots[i] = Slot{job: 99, token: 99, state: SlotZombie, flags: lost}
	}
	for q := range mem.Requests {
		mem.Requests[q] = Request{seq: 99, state: RequestAsked}
	}
	for i := range mem.Histograms.all() {
		mem.Histograms.buckets[i] = 99
	}
	data := append(m.AppendSnapshot(nil), "what follows"...)
	r := &Machine{wake: 99, phase: PhaseQuiet}
	rest, err := r.ReadSnapshot(m.cfg, mem, data)
	if err != nil || string(rest) != "what follows" {
		panic(err)
	}
	return r
}

// Every story goes on as it would have, from a snapshot before each of its steps.
func TestASnapshotGoesOnWithEveryStory(t *testing.T) {
	stories, err := filepath.Glob("testdata/rule*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, stories)
	for _, path := range stories {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tr := trace{restores: true}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				require.Equal(t, d.Expected, tr.run(t, d), d.Pos)
				return d.Expected
			})
		})
	}
}

// stepRestored gives the event to a machine read back from a snapshot taken before it, and
// compares all there is of the two.
func (d *driver) stepRestored(t *rapid.T, snapshot []byte, ev Event) {
	var m Machine
	if slots, err := SnapshotSlots(snapshot); err != nil || slots != len(d.m.slots) {
		t.Fatalf("%d slots, %v", slots, err)
	}
	if rest, err := m.ReadSnapshot(&d.cfg, d.cloneM, snapshot); err != nil || len(rest) > 0 {
		t.Fatalf("%d bytes are left of a snapshot, %v", len(rest), err)
	}
	d.spare.Reset()
	m.Step(d.now, ev, d.spare)
	same(t, "a snapshot", &m, d.spare.All(), d.now, d.fx.All(), &d.m, d.now)
	m.census, m.present = d.m.census, d.m.present // follow from the slots; see watch
	if !reflect.DeepEqual(&m, &d.m) {
		t.Fatalf("a snapshot forgot something\n%+v\n%+v", &m, &d.m)
	}
}

// busy is a machine in the middle of a drain, with a slot in most states.
func busy() *stage {
	s := newStage(4, nil).serve()
	seq := s.m.requests[0].seq
	s.do(GrantedJob(0, seq, 1, 10, plainKind, 1, 0), GrantedJob(0, seq, 2, 20, limitedKind, 1, 0), GrantedJob(0, seq, 3, 30, lengthyKind, 1, 0), ClaimClosed(0, seq, OK, 0))
	s.do(SaveCursor(0, 5, false), Returned(1, ReturnedNil, true), StopBySignal(SIGTERM, Never), Returned(2, ReturnedError, false))
	return s
}

func TestASnapshotAllocatesNothing(t *testing.T) {
	s := busy()
	buf := make([]byte, 0, 4096)
	assert.Zero(t, testing.AllocsPerRun(100, func() { buf = s.m.AppendSnapshot(buf[:0]) }))
	assert.Less(t, len(buf), 400)
}

// What no machine can have written is refused, whatever is wrong with it, and never panics.
func TestADamagedSnapshotIsRefused(t *testing.T) {
	s := busy()
	whole := s.m.AppendSnapshot(nil)
	var m Machine
	for n := range whole {
		_, err := m.ReadSnapshot(&s.cfg, NewMemory(&s.cfg, 4), whole[:n])
		require.Error(t, err, "cut after %d of %d bytes", n, len(whole))
	}
	foreign := append([]byte{}, whole...)
	foreign[0] = 7
	_, err := m.ReadSnapshot(&s.cfg, NewMemory(&s.cfg, 4), foreign)
	assert.EqualError(t, err, "protocol: snapshot of format 7, and this version reads format 2; read it with the version that wrote it")
	_, err = m.ReadSnapshot(&s.cfg, NewMemory(&s.cfg, 5), whole)
	assert.EqualError(t, err, "protocol: snapshot of 4 slots, 1 requests and 0 buckets does not fit memory of 5, 1 and 0; it belongs to another configuration")
	phase := append([]byte{}, whole...)
	phase[1] = byte(phases)
	_, err = m.ReadSnapshot(&s.cfg, NewMemory(&s.cfg, 4), phase)
	assert.ErrorIs(t, err, errSnapshot)
	fewer := s.cfg
	fewer.Kinds = fewer.Kinds[:1]
	_, err = m.ReadSnapshot(&fewer, NewMemory(&fewer, 4), whole)
	assert.ErrorIs(t, err, errSnapshot, "a handler runs of a kind that is not configured")
}

// FuzzReadSnapshot looks for bytes that are read as a machine without being one, or that
// make reading panic.
func FuzzReadSnapshot(f *testing.F) {
	s := busy()
	f.Add(s.m.AppendSnapshot(nil))
	f.Add(newStage(4, nil).m.AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Machine
		rest, err := m.ReadSnapshot(&s.cfg, NewMemory(&s.cfg, 4), data)
		if err != nil {
			return
		}
		again := m.AppendSnapshot(nil)
		var n Machine
		if _, err := n.ReadSnapshot(&s.cfg, NewMemory(&s.cfg, 4), again); err != nil || !reflect.DeepEqual(&m, &n) {
			t.Fatalf("%x was read, written as %x, and read as another machine: %v", data[:len(data)-len(rest)], again, err)
		}
	})
}
