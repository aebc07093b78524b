package lab

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is one of several parts of a plan, made to be carried out on different machines: the
// replications whose number leaves the remainder Index when divided by Of. Replications are
// counted from 0. The zero Shard is all of them.
type Shard struct{ Index, Of int }

// MostShards is more than anybody has machines for.
const MostShards = 10_000

// Has reports whether replication s belongs to the shard.
func (h Shard) Has(s int) bool { return h.Of == 0 || s%h.Of == h.Index }

// String returns "3 of 8".
func (h Shard) String() string { return fmt.Sprintf("%d of %d", h.Index, h.Of) }

// ParseShard reads "3/8". Shards are counted from 0, as Kubernetes and Slurm count.
func ParseShard(s string) (Shard, error) {
	index, of, ok := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return Shard{}, fmt.Errorf("is not a shard; write its number and how many there are, such as 0/8")
	case n < 1 || n > MostShards:
		return Shard{}, fmt.Errorf("are %d shards; there can be 1 to %d", n, MostShards)
	case i < 0 || i >= n:
		return Shard{}, fmt.Errorf("is not there: %d shards are numbered 0 to %d", n, n-1)
	}
	return Shard{i, n}, nil
}
