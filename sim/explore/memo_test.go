package explore

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
)

// recalls follows a world for a while, as a search does, and compares every state that is put
// together of what is remembered with the one that is made. It returns how many those are.
func recalls(t *testing.T, w World, symmetry bool, most, ring int) (n int) {
	l := newLane(newSearch(w, Options{Symmetry: symmetry}))
	e, at, c := l.engine, l.at, l.scratch
	e.memo.most = ring
	forms := [][]byte{slices.Clone(e.encode(e.initial()))}
	known := map[string]bool{string(forms[0]): true}
	for k := 0; k < min(len(forms), most); k++ {
		e.decodeNext(at, forms[k])
		c.differs(at)
		e.actions(at, &l.menu)
		for _, a := range l.menu.list {
			s := e.siteOf(at, a)
			recalled := string(e.recall(at, &s))
			e.restore(at, c)
			e.apply(c, a)
			made := ""
			if c.broken.Invariant == "" {
				made = string(e.encodeChild(c))
			}
			if recalled != "" {
				n++
				require.Equal(t, made, recalled, "%s: %v", w.Name, a)
			} else if made != "" {
				e.remember(at, c, &s)
			}
			if made != "" && !known[made] {
				known[made] = true
				forms = append(forms, []byte(made))
			}
		}
	}
	return n
}

func TestWhatIsRememberedIsWhatWouldBeMade(t *testing.T) {
	for _, w := range Worlds() {
		for _, symmetry := range []bool{false, true} {
			n := recalls(t, w, symmetry, 10_000, mostRing)
			assert.Equal(t, n > 0, w.Failovers == 0, "%s: %d were remembered", w.Name, n)
		}
	}
}

// So it is of a machine or a broker that is wrong, of which more is looked at.
func TestWhatIsRememberedOfADeviationIsWhatWouldBeMade(t *testing.T) {
	for _, id := range deviation.All() {
		w := named(t, RefutationOf(id).World)
		w.Deviations = deviation.Of(id)
		recalls(t, w, false, 5_000, mostRing)
	}
}

// What a step finds right or wrong by a look at the broker may be the other way round beside another
// broker, so it is remembered beside that one alone.
func TestAStepForWhichTheBrokerIsLookedAtIsRememberedBesideIt(t *testing.T) {
	looked := map[protocol.EffectKind]int{}
	for _, name := range []string{"stop-and-loss", "progress"} {
		w := named(t, name)
		walk(t, w, false, 5_000, func(e *engine, form []byte, st *state, acts []action) {
			for _, a := range acts {
				s := e.siteOf(st, a)
				e.fx.Reset()
				e.recall(st, &s)
				for _, f := range e.fx.All() { // of the last step, if one was made
					if f.Kind == protocol.CommitSegment || f.Kind == protocol.Line && f.Outcome == protocol.WasFinished {
						require.Nil(t, e.memo.get(s.key), "%s: %v", name, a)
						if e.memo.get(e.asking(s.key, &s, nil)) == nil {
							continue // nor was it otherwise
						}
						looked[f.Kind]++
						e.parts.jobs.a++
						require.Nil(t, e.memo.get(e.asking(s.key, &s, nil)), "%s: %v", name, a)
						e.parts.jobs.a--
					}
				}
			}
		})
	}
	assert.Len(t, looked, 2)
}

// What is read may be written over by what has to be made beside it.
func TestWhatIsRememberedForAMomentIsWhatWouldBeMade(t *testing.T) {
	for _, w := range Worlds() {
		recalls(t, w, false, 1_000, 1<<11)
	}
}

func TestAMemoWritesOverTheOldest(t *testing.T) {
	m := memo{most: mostRing}
	key := func(i int) hash { return hash{uint64(i), uint64(i) + 7} }
	write := func(i int) { m.put(append(m.begin(key(i)), byte(i), byte(i>>8), byte(i>>16))) }
	first := 3 * mostRing / (keySize + 3)
	for i := range first {
		write(i)
		require.Equal(t, []byte{byte(i), byte(i >> 8), byte(i >> 16)}, m.get(key(i)))
		require.True(t, i == 0 || m.get(key(i-1)) != nil, "the one before record %d has gone", i)
		require.Nil(t, m.get(hash{uint64(i), uint64(i)}), "that is another key")
		require.Nil(t, m.get(hash{uint64(i + len(m.places)), uint64(i) + 7}), "so is that")
	}
	assert.Len(t, m.ring, mostRing)
	kept := 0
	for i := range first {
		if r := m.get(key(i)); r != nil {
			kept++
			require.Equal(t, []byte{byte(i), byte(i >> 8), byte(i >> 16)}, r)
		}
	}
	assert.Greater(t, kept, len(m.places)/2)

	long := make([]byte, 2000)
	m.put(append(m.begin(key(first)), long...))
	assert.Nil(t, m.get(key(first)), "what is too long is not kept")
	write(1)
	assert.NotNil(t, m.get(key(1)))
}
