package explore

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/protocol"
)

// follower follows a world and compares every state that is put together of what is remembered with the
// one that is made.
type follower struct {
	t        *testing.T
	lane     *lane
	recalled int // how many were put together
}

func follow(t *testing.T, w World, symmetry bool, ring int) *follower {
	f := &follower{t: t, lane: newLane(newSearch(w, Options{Symmetry: symmetry}))}
	f.lane.engine.memo.most = ring
	return f
}

func (f *follower) first() []byte {
	e := f.lane.engine
	return slices.Clone(e.encode(e.initial()))
}

// next returns the states that come after one.
func (f *follower) next(form []byte) (forms [][]byte) {
	l := f.lane
	e, at, c := l.engine, l.at, l.scratch
	e.decodeNext(at, form)
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
			f.recalled++
			require.Equal(f.t, made, recalled, "%s: %v", e.world.Name, a)
		} else if made != "" {
			e.remember(at, c, &s)
		}
		if made != "" {
			forms = append(forms, []byte(made))
		}
	}
	return forms
}

// recalls follows a world from its beginning, as a search does, and returns how many states were put
// together.
func recalls(t *testing.T, w World, symmetry bool, most, ring int) int {
	f := follow(t, w, symmetry, ring)
	forms := [][]byte{f.first()}
	known := map[string]bool{string(forms[0]): true}
	for k := 0; k < min(len(forms), most); k++ {
		for _, form := range f.next(forms[k]) {
			if !known[string(form)] {
				known[string(form)] = true
				forms = append(forms, form)
			}
		}
	}
	return f.recalled
}

// strays follows a world along many ways that chance chooses, to where no search of a few seconds comes.
func strays(t *testing.T, w World, ways int) int {
	f := follow(t, w, false, mostRing)
	r := rand.New(rand.NewPCG(1, 2))
	for range ways {
		for form := f.first(); ; {
			forms := f.next(form)
			if len(forms) == 0 || r.IntN(100) == 0 {
				break
			}
			form = forms[r.IntN(len(forms))]
		}
	}
	return f.recalled
}

func TestWhatIsRememberedIsWhatWouldBeMade(t *testing.T) {
	for _, w := range Worlds() {
		for _, symmetry := range []bool{false, true} {
			n := recalls(t, w, symmetry, 7_000, mostRing)
			assert.Equal(t, n > 0, w.Failovers == 0, "%s: %d were remembered", w.Name, n)
		}
	}
}

// Of more than two workers the broker sees some, so that what it knows of the others is not in the key.
func TestWhatIsRememberedBesideOtherWorkersIsWhatWouldBeMade(t *testing.T) {
	for _, name := range []string{"boot", "crash", "pause", "limit", "no-withdraw", "rollout", "three-by-three"} {
		w := named(t, name)
		w.Workers = 3
		assert.Positive(t, strays(t, w, 500), name)
	}
}

// A broker that ends a claim looks whether its holder was going, so the holder's seat is in the key.
func TestWhoseClaimMayEndIsInTheKey(t *testing.T) {
	over := named(t, "rollout")
	over.Replace, over.Crashes, over.Lease = ReplaceNobody, 1, 2
	sweeps := named(t, "sweep")
	sweeps.Workers, sweeps.Slots, sweeps.Deviations = 3, 1, deviation.Of(deviation.SweepsNewcomers)
	for _, w := range []World{over, sweeps} {
		differ := 0
		l := newLane(newSearch(w, Options{}))
		does := func(st *state, a action) (key hash, jobs string) {
			form := slices.Clone(l.engine.encode(st))
			l.engine.decodeNext(l.at, form)
			l.scratch.differs(l.at)
			l.engine.restore(l.at, l.scratch)
			l.engine.apply(l.scratch, a)
			made := l.engine.encodeChild(l.scratch)
			return l.engine.siteOf(l.at, a).key, string(made[headSize:l.engine.coder.jobsEnd])
		}
		walk(t, w, false, 30_000, func(e *engine, form []byte, st *state, acts []action) {
			row := st.broker.Job(1)
			if row.State != model.JobClaimed {
				return
			}
			going := e.empty()
			e.copyAll(st, going)
			going.broker.Handle(st.now, model.Request{From: row.Owner, Effect: protocol.Effect{Kind: protocol.Going}}, &e.out)
			e.out.Reset()
			for _, a := range acts {
				if a.kind == tickBroker || a.kind == deliver && st.messages[a.a].kind != toWorker {
					key, jobs := does(st, a)
					if other, others := does(going, a); jobs != others {
						differ++
						require.NotEqual(t, key, other, "%s: %v", w.Name, a)
					}
				}
			}
		})
		assert.Positive(t, differ, w.Name)
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
