package redis

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/quiesce/quiesce/protocol"
)

// A job's key names it across queues: 11 bits queue, 6 bits partition, 3 bits priority and
// 44 bits number, which grows with every job of the partition.
const (
	numberBits    = 44
	levelBits     = 3
	partitionBits = 6
	queueBits     = 11

	// MaxPartitions is the largest number of partitions of a queue.
	MaxPartitions = 1 << partitionBits
	// MaxQueues is how many queues one namespace can have.
	MaxQueues = 1<<queueBits - 1
)

// jobKey makes the key of the job that a partition's scripts call id.
func jobKey(queue, partition int, id uint64) protocol.JobKey {
	return protocol.JobKey(uint64(queue)<<(partitionBits+levelBits+numberBits) | uint64(partition)<<(levelBits+numberBits) | id)
}

func split(job protocol.JobKey) (queue, partition int, id uint64) {
	n := uint64(job)
	return int(n >> (partitionBits + levelBits + numberBits)), int(n >> (levelBits + numberBits) & (MaxPartitions - 1)), n & (1<<(levelBits+numberBits) - 1)
}

func idOf(job protocol.JobKey) string {
	_, _, id := split(job)
	return strconv.FormatUint(id, 10)
}

// level is how scripts number priorities: 0 is the normal one, which needs no digits.
func level(priority int) int {
	if priority < 0 {
		return 3 - priority
	}
	return priority
}

// names of a partition's keys, in the order of KEYS in every script. Those come first that are all
// that add needs: each costs a call about as much as a command of its script.
var names = []string{
	"meta", "ready", "data", "waiters", "newer", "wake", "wake-newer", "times",
	"ranked", "aside", "delayed", "state", "claims", "leases", "members", "seen", "dead", "quarantined", "ended", "unique", "periods", "starving",
}

const (
	wakeKey      = 5 // index in names
	wakeNewerKey = 6
	membersKey   = 14
	addKeys      = 8 // how many of names are given to add
)

// partitionKeys returns the keys of one partition. The tag in braces keeps them in one hash
// slot of a cluster.
func partitionKeys(namespace, queue string, partition int) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = fmt.Sprintf("%s:{%s/%d}:%s", namespace, queue, partition, name)
	}
	return keys
}

// globalKeys are those that all queues of a namespace share.
func globalKeys(namespace string) (queues string, seats []string) {
	tag := "{" + namespace + "}:"
	return tag + "queues", []string{tag + "seats", tag + "seats-seen", tag + "serial"}
}

// numberFor is where the search for a queue's number begins. A hash of the name, so that it
// is found again when a failover forgot it.
func numberFor(queue string) int {
	h := fnv.New32a()
	h.Write([]byte(queue)) // never fails
	return int(h.Sum32()%MaxQueues) + 1
}

// padded is a token as scripts compare it: sixteen digits.
func padded(t protocol.Token) string {
	s := strconv.FormatUint(uint64(t), 10)
	if len(s) >= 16 {
		return s
	}
	return "0000000000000000"[len(s):] + s
}
