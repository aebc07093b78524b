package sim

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model"
)

// Stream is a purpose for which random numbers are used. Numbers are addressed, not drawn
// in turn: what one purpose or entity uses never shifts what another gets.
type Stream uint8

// Streams. Those before messages come from outside of the workers and are the same under
// every policy; the others follow what the policy does.
const (
	StreamArrival   Stream = iota // gap before job n of a kind
	StreamWork                    // work of job n of a kind
	StreamStart                   // start-up time of process n in a seat
	StreamCrash                   // gap before crash n of a seat
	StreamPause                   // gap before, and length of, pause n of a seat
	StreamPartition               // likewise
	StreamSlow                    // likewise, of the broker
	StreamFailover                // gap before failover n; how soon a process has found the new primary
	StreamDrift                   // clock drift of a seat
	StreamVictim                  // order in which a rollout stops its seats
	StreamExecution               // how execution n of a job behaves
	StreamUndo                    // whether its undo fails
	StreamSeed                    // seed of a machine's jitter
	StreamMessage                 // fate of message n of a process
	StreamAnswer                  // fate of answer n to a process

	// From outside again; they stand here so that older ones keep their numbers.
	StreamDrill   // whether and when the drain of a seat in deploy n is killed on purpose
	StreamEvict   // gap before eviction n of a seat
	StreamPreempt // gap before preemption n of a seat
	StreamScaleIn // order in which scale-in n picks its victims

	streams
)

// Address names one random number.
type Address struct {
	Stream Stream
	Entity uint64
	Index  uint64
}

// Random is the source of every chance in a run: a hash of the seed and an address, with
// sparse overrides. Replaying is running again; shrinking a story is setting overrides to
// zero, the harmless value.
type Random struct {
	keys      [streams]uint64    // by stream
	overrides map[Address]uint64 // looked up, never ranged over
	calm      bool               // nothing of any probability happens
	log       *[]Address         // of what happened; mostly nil
}

// NewRandom returns the random numbers of a seed.
func NewRandom(seed uint64, overrides map[Address]uint64) Random {
	r := Random{overrides: overrides}
	r.Reseed(seed)
	return r
}

// Draw returns the uniformly distributed 64-bit number at an address.
func (r *Random) Draw(s Stream, entity, index uint64) uint64 {
	if r.overrides != nil {
		if v, ok := r.overrides[Address{s, entity, index}]; ok {
			return v
		}
	}
	h := mix(r.keys[s] ^ (entity+1)*0xe7037ed1a0b428db)
	return mix(h ^ (index+1)*0x8ebc6af09c88c6e3)
}

// mix is the finaliser of splitmix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Choose returns one of n choices; 0 is the harmless one.
func (r *Random) Choose(s Stream, entity, index uint64, n int) int {
	hi, _ := bits.Mul64(r.Draw(s, entity, index), uint64(n))
	return int(hi)
}

// Happens reports whether something of probability p happens. An override of 0 says no.
func (r *Random) Happens(s Stream, entity, index uint64, p model.PPB) bool {
	if p <= 0 || r.calm {
		return false
	}
	hi, _ := bits.Mul64(r.Draw(s, entity, index), uint64(model.Certain))
	happens := hi >= uint64(model.Certain-p)
	if happens && r.log != nil {
		*r.log = append(*r.log, Address{s, entity, index})
	}
	return happens
}

// Reseed makes what is drawn from now on follow from another seed.
func (r *Random) Reseed(seed uint64) {
	key := mix(seed ^ 0x9e3779b97f4a7c15)
	for s := range r.keys {
		r.keys[s] = mix(key + uint64(s+1)*0xa0761d6478bd642f)
	}
}

var streamNames = [streams]string{"arrival", "work", "start", "crash", "pause", "partition", "slow", "failover", "drift", "victim",
	"execution", "undo", "seed", "message", "answer", "drill", "evict", "preempt", "scale-in"}

// String returns the name by which scenario files call the stream.
func (s Stream) String() string { return streamNames[s] }

// Override returns an address and its value as a scenario has them.
func (a Address) Override(value uint64) model.Override {
	return model.Override{Stream: a.Stream.String(), Entity: a.Entity, Index: a.Index, Value: value}
}

// Overrides turns those of a scenario into what NewWorld takes.
func Overrides(list []model.Override) (map[Address]uint64, error) {
	if len(list) == 0 {
		return nil, nil
	}
	all := make(map[Address]uint64, len(list))
	for _, o := range list {
		s := slices.Index(streamNames[:], o.Stream)
		if s < 0 {
			return nil, fmt.Errorf("there is no stream %q of random numbers; there are %s", o.Stream, strings.Join(streamNames[:], ", "))
		}
		all[Address{Stream(s), o.Entity, o.Index}] = o.Value
	}
	return all, nil
}
