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

// kinds gives equal names one string, so that a stream allocates per kind, not per row.
type kinds map[string]string

// intern returns the shared string; when it cannot, problem says why.
func (k kinds) intern(name []byte) (kind, problem string) {
	if len(name) == 0 {
		return defaultKind, ""
	}
	if kind, ok := k[string(name)]; ok { // The compiler makes no string for a lookup.
		return kind, ""
	}
	switch {
	case len(name) > maxKindBytes:
		return "", fmt.Sprintf("kind has %d bytes, more than %d", len(name), maxKindBytes)
	case !printable(name):
		return "", fmt.Sprintf("kind %s is not printable UTF-8 text", quote(name))
	case len(k) == maxKinds:
		return "", fmt.Sprintf("kind %s is one more than %d different kinds", quote(name), maxKinds)
	}
	kind = string(name)
	k[kind] = kind
	return kind, ""
}

const kindRemedy = "name the class of the job, for example mail, not the job itself"
