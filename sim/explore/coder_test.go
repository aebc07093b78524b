package explore

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// walk visits the states of a world level by level, as far as a number of them, with every
// action that can be made in each.
func walk(t *testing.T, w World, symmetry bool, most int, visit func(e *engine, form []byte, st *state, acts []action)) {
	e := newEngine(w)
	e.coder.symmetry = symmetry
	at, next := e.empty(), e.empty()
	level := [][]byte{append([]byte(nil), e.encode(e.initial())...)}
	known := map[string]bool{string(level[0]): true}
	for n := 0; len(level) > 0 && n < most; n++ {
		form := level[0]
		level = level[1:]
		e.decode(at, form)
		var m menu
		e.actions(at, &m)
		visit(e, form, at, m.list)
		e.decode(at, form)
		for _, a := range m.list {
			e.copyAll(at, next)
			e.apply(next, a)
			if c := e.encode(next); !known[string(c)] {
				known[string(c)] = true
				level = append(level, append([]byte(nil), c...))
			}
		}
	}
	require.Greater(t, len(known), most/2, "so few states prove nothing")
}

func TestAStateReadBackIsTheSame(t *testing.T) {
	for _, name := range []string{"stop-and-loss", "crash", "pause", "signals", "progress", "two-slots", "boot", "weighs", "late-undo", "sweep", "copies"} {
		for _, symmetry := range []bool{false, true} {
			walk(t, named(t, name), symmetry, 3000, func(e *engine, form []byte, st *state, _ []action) {
				require.Equal(t, form, e.encode(st), "%s", name)
			})
		}
	}
}

// What the state before had in common with one is not read again. Nothing that comes of it can tell.
func TestAStateThatIsReadInPartBehavesLikeOneThatIsReadWhole(t *testing.T) {
	for _, name := range []string{"stop-and-loss", "crash", "signals", "progress", "two-slots", "boot", "rollout", "liar-at-boot", "sweep", "copies"} {
		for _, symmetry := range []bool{false, true} {
			var other *engine
			var at, c *state
			again := 0
			walk(t, named(t, name), symmetry, 1500, func(e *engine, form []byte, st *state, acts []action) {
				if other == nil {
					other = newEngine(e.world)
					other.coder.symmetry = symmetry
					at, c = other.empty(), other.empty()
				}
				other.decodeNext(at, form)
				if !at.answered || at.touched != 1<<len(at.workers)-1 {
					again++
				}
				at.clean()
				for _, a := range acts {
					whole := e.empty()
					e.copyAll(st, whole)
					e.apply(whole, a)
					other.copyAll(at, c)
					other.apply(c, a)
					require.Equal(t, string(e.encode(whole)), string(other.encodeChild(c)), "%s, %v", name, a)
				}
			})
			assert.Positive(t, again, "%s: nothing was ever left out", name)
		}
	}
}

// The form of a child is put together of what has changed and of what its parent's form says.
func TestTheFormOfAChildIsItsOwn(t *testing.T) {
	for _, name := range []string{"stop-and-loss", "crash", "pause", "signals", "progress", "two-slots", "boot", "rollout", "late-undo", "sweep"} {
		for _, symmetry := range []bool{false, true} {
			walk(t, named(t, name), symmetry, 2000, func(e *engine, form []byte, st *state, acts []action) {
				c := e.empty()
				e.copyAll(st, c)
				for _, a := range acts {
					e.apply(c, a)
					quick := string(e.encodeChild(c))
					require.Equal(t, string(e.encode(c)), quick, "%s, %v", name, a)
					e.restore(st, c)
					require.Equal(t, string(form), string(e.encode(c)), "%s: %v was not taken back", name, a)
				}
			})
		}
	}
}

// Merging states by their canonical form must lose none: every path of a given length,
// followed in states that are never written down, ends in a state that the merged search
// knows too.
func TestCanonicalFormsLoseNoState(t *testing.T) {
	w := named(t, "stop-and-loss")
	w.Workers, w.Jobs = 1, 1
	const depth = 13
	e := newEngine(w)

	unmerged, paths := map[string]bool{}, 0
	var follow func(st *state, left int)
	follow = func(st *state, left int) {
		paths++
		unmerged[string(e.encode(st))] = true
		if left == 0 {
			return
		}
		var m menu
		e.actions(st, &m)
		for _, a := range m.list {
			c := e.empty()
			e.copyAll(st, c)
			e.apply(c, a)
			follow(c, left-1)
		}
	}
	follow(e.initial(), depth)

	merged := map[string]bool{}
	level := [][]byte{append([]byte(nil), e.encode(e.initial())...)}
	merged[string(level[0])] = true
	at, c := e.empty(), e.empty()
	for range depth {
		var next [][]byte
		for _, form := range level {
			e.decode(at, form)
			var m menu
			e.actions(at, &m)
			for _, a := range m.list {
				e.copyAll(at, c)
				e.apply(c, a)
				if f := e.encodeChild(c); !merged[string(f)] {
					merged[string(f)] = true
					next = append(next, append([]byte(nil), f...))
				}
			}
		}
		level = next
	}
	assert.True(t, maps.Equal(unmerged, merged), "%d states reached one by one, %d in the search", len(unmerged), len(merged))
	assert.Greater(t, paths, 20*len(merged), "so few paths prove nothing")
}
