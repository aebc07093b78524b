package trace

import "fmt"

// A kind names a class of jobs, so a trace has few, and short ones. The limits keep a
// wrong column (job ids, messages) from filling the memory; the busiest log we read
// has 494 kinds.
const (
	maxKinds     = 65536
	maxKindBytes = 256
)

const defaultKind = "job"

// kinds numbers the kinds of a trace, so that a row in memory has no pointer and a stream
// allocates per kind, not per row.
type kinds struct {
	numbers map[string]int32
	names   []string // the first is defaultKind
}

func newKinds() *kinds {
	return &kinds{numbers: map[string]int32{defaultKind: 0}, names: []string{defaultKind}}
}

// intern returns the number of a kind; when it cannot, problem says why.
func (k *kinds) intern(name []byte) (kind int32, problem string) {
	if len(name) == 0 {
		return 0, ""
	}
	if kind, ok := k.numbers[string(name)]; ok { // The compiler makes no string for a lookup.
		return kind, ""
	}
	switch {
	case len(name) > maxKindBytes:
		return 0, fmt.Sprintf("kind has %d bytes, more than %d", len(name), maxKindBytes)
	case !printable(name):
		return 0, fmt.Sprintf("kind %s is not printable UTF-8 text", quote(name))
	case len(k.names) > maxKinds:
		return 0, fmt.Sprintf("kind %s is one more than %d different kinds", quote(name), maxKinds)
	}
	kind = int32(len(k.names))
	k.names = append(k.names, string(name))
	k.numbers[k.names[kind]] = kind
	return kind, ""
}

const kindRemedy = "name the class of the job, for example mail, not the job itself"
