package model

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestASlabKeepsEveryValueAtItsPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s, copied Slab[int]
		held := map[uint32]int{}
		next := 0
		holds := func(t *rapid.T, s *Slab[int], want map[uint32]int) {
			for place, v := range want {
				if *s.At(place) != v {
					t.Fatalf("place %d holds %d instead of %d", place, *s.At(place), v)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put many": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*blockSize).Draw(t, "values") {
					next++
					place := s.Put(next)
					if _, taken := held[place]; taken {
						t.Fatalf("place %d is taken", place)
					}
					held[place] = next
				}
			},
			"free": func(t *rapid.T) {
				for place := range held {
					if held[place]%3 == 0 {
						s.Free(place)
						delete(held, place)
					}
				}
			},
			"copy": func(t *rapid.T) {
				s.CopyTo(&copied)
				holds(t, &copied, held)
				for range rapid.IntRange(0, blockSize).Draw(t, "values of its own") {
					copied.Put(-1)
				}
				holds(t, &copied, held) // none of them took a place that is held
			},
			"": func(t *rapid.T) { holds(t, &s, held) },
		})
	})
}

func TestASlabUsesItsRoomAgain(t *testing.T) {
	var s Slab[int]
	first := s.At(s.Put(1))
	for n := range 100_000 {
		place := s.Put(n)
		if n > 10 {
			s.Free(place)
		}
	}
	assert.Equal(t, 13, s.Places())
	assert.Equal(t, 1, *first, "what is put later moves nothing")
}
