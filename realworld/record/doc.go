// Package record is the flight recorder of a worker: it writes down what the machine was told
// and what it asked for, so that a bad deploy in production can be stepped through in the
// laboratory, on the same machine, event by event.
//
//	recorder, err := record.New(record.Options{Dir: "/var/lib/render/flight"})
//	w, err := worker.New(broker, mux, worker.Options{Grace: grace, Observers: []worker.Observer{recorder}})
//
// # What it promises
//
// A recording holds no payload, no cursor and no error text: nothing of what a job carries
// reaches an Observer. It is bounded: the folder holds no more than Options.MaxBytes. It
// survives the death of the process, SIGKILL included, up to what was asked of it in the last
// moment; a torn end is read up to the tear. A machine that breaks is recorded with the event
// that broke it. The worker never waits for the disk: what a slow disk cannot take is left
// out, counted, and the recording goes on with a new snapshot.
//
// # What it does not promise
//
// It does not call fsync: what a power failure or the end of the node takes is gone. The
// folder must outlive the container, or somebody must carry it away. Job keys, tokens, names
// of kinds, queues and the seat are in it; treat it like a log.
//
// # The format
//
// A recording is the segments of one life, each a file that can be read alone:
//
//	magic     "quiesce\x1aflight\n\x00", 16 bytes
//	frame     length of body (uvarint), body, CRC-32C of the body (4 bytes, little-endian)
//
// The first byte of a body says what it is; numbers are varints, as in encoding/binary:
//
//	1 header  JSON: format, rules version, build, seat, life, start, seed, slots, queues,
//	          kinds, configuration
//	2 opening number of the segment, number of the next step, instant, snapshot of the machine
//	3 step    time since the frame before, event, number of effects, of each its kind, its
//	          detail and its slot, and a CRC-64 (ECMA) of all of them in full
//	4 end     exit status
//	5 broken  instant, event, and what the machine panicked with; then the status
//
// A header and an opening begin every segment; steps follow. An older format than this one
// is read as long as [Read] says so; a newer one is refused.
package record
