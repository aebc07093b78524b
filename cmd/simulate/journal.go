package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
	"github.com/quiesce/quiesce/sim/lab"
)

// journal keeps the row of every run that is done, one per line, until the results are
// written: who is stopped goes on from there. A row belongs to whatever has its fingerprint
// and its seed, so other policies, more seeds or another precision may be asked for. One
// process at a time has it: two that append would write over each other's lines.
type journal struct {
	path   string
	unlock func()   // nil once it was called
	file   *os.File // nil until there is something to write
	rows   map[rowKey]*meter.Row
	asked  map[string]bool // fingerprints of what this command runs
	size   int64           // up to the end of the last whole line
}

type rowKey struct {
	fingerprint string
	seed        uint64
}

// journalHead is the first line.
type journalHead struct {
	Format int    `json:"format"`
	Build  string `json:"build"`
}

type journalLine struct {
	Fingerprint string          `json:"fingerprint"`
	Seed        uint64          `json:"seed"`
	Row         json.RawMessage `json:"row"`
	CRC         string          `json:"crc"` // of the rest: a disk that failed leaves numbers that look like any
}

func (l *journalLine) sum() string {
	h := crc32.New(castagnoli)
	fmt.Fprintf(h, "%s %d %s", l.Fingerprint, l.Seed, l.Row)
	return fmt.Sprintf("%08x", h.Sum32())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openJournal makes dir if need be, keeps other processes out of the journal, and reads what an
// earlier run left behind, if anything.
func openJournal(dir, name string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, outError(dir, err)
	}
	if what := notAFile(filepath.Join(dir, name)); what != "" {
		return nil, misuse("--out %s: %s in it is %s, where rows are to be kept; move it or name another folder", dir, name, what)
	}
	j := &journal{path: filepath.Join(dir, name), rows: make(map[rowKey]*meter.Row), asked: make(map[string]bool)}
	var err error
	j.unlock, err = lock(j.path + ".lock")
	if errors.Is(err, errLocked) {
		return nil, misuse("%s is being written by another process; wait until it has ended, or name another folder with --out", j.path)
	}
	if err != nil {
		return nil, outError(dir, err)
	}
	if err := j.readAll(); err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

func (j *journal) readAll() error {
	dir := filepath.Dir(j.path)
	f, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return outError(dir, err)
	}
	defer f.Close() // only read from: closing it cannot lose anything
	in := bufio.NewReader(f)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil // without its end a line was being written when the run was ended
		}
		if err != nil {
			return outError(dir, err)
		}
		if err := j.read(number, line); err != nil {
			return misuse("%s:%d: %v; remove the file to begin anew", j.path, number, err)
		}
		j.size += int64(len(line))
	}
}

func (j *journal) read(number int, line []byte) error {
	if number == 1 {
		var head journalHead
		if err := strictly(line, &head); err != nil {
			return fmt.Errorf("is not the beginning of kept rows: %w", err)
		}
		if head.Format != meter.FormatVersion || head.Build != build() {
			return fmt.Errorf("its rows were made by another build of simulate, %s, and need not agree with those of this one, %s", head.Build, build())
		}
		return nil
	}
	var l journalLine
	if err := strictly(line, &l); err != nil {
		return fmt.Errorf("is not a row: %w", err)
	}
	if l.CRC != l.sum() {
		return errors.New("was changed after it was written: its checksum is not that of its row")
	}
	row := new(meter.Row)
	if err := strictly(l.Row, row); err != nil {
		return fmt.Errorf("is not a row: %w", err)
	}
	j.rows[rowKey{l.Fingerprint, l.Seed}] = row
	return nil
}

func strictly(text []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(to)
}

// attach makes a plan take rows from the journal and leave rows in it.
func (j *journal) attach(plan *lab.Plan) error {
	fingerprints, err := j.fingerprints(plan.Scenario, plan.Policies)
	if err != nil {
		return err
	}
	plan.Known = func(policy string, seed uint64) *meter.Row { return j.rows[rowKey{fingerprints[policy], seed}] }
	plan.Keep = func(policy string, seed uint64, row *meter.Row) error {
		return j.keep(rowKey{fingerprints[policy], seed}, row)
	}
	return nil
}

// attachSweep does the same for a sweep.
func (j *journal) attachSweep(plan *lab.SweepPlan) error {
	fingerprints := make([]map[string]string, len(plan.Points)) // by point
	for i, sc := range plan.Points {
		var err error
		if fingerprints[i], err = j.fingerprints(sc, plan.Policies); err != nil {
			return err
		}
	}
	plan.Known = func(point int, policy string, seed uint64) *meter.Row {
		return j.rows[rowKey{fingerprints[point][policy], seed}]
	}
	plan.Keep = func(point int, policy string, seed uint64, row *meter.Row) error {
		return j.keep(rowKey{fingerprints[point][policy], seed}, row)
	}
	return nil
}

// fingerprints returns those of a scenario by policy, and remembers that their rows are asked for.
func (j *journal) fingerprints(sc *model.Scenario, policies []string) (map[string]string, error) {
	all := make(map[string]string)
	for _, policy := range policies {
		f, err := lab.Fingerprint(sc, policy)
		if err != nil {
			return nil, err
		}
		all[policy] = f
		j.asked[f] = true
	}
	return all, nil
}

// keep appends a row. It reaches the file at once: the next thing to happen may be SIGKILL.
func (j *journal) keep(key rowKey, row *meter.Row) error {
	text, err := json.Marshal(row)
	if err != nil {
		return err
	}
	l := journalLine{Fingerprint: key.fingerprint, Seed: key.seed, Row: text}
	l.CRC = l.sum()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	if j.file == nil {
		if err := j.begin(); err != nil {
			return outError(filepath.Dir(j.path), err)
		}
		if j.size == 0 {
			if err := enc.Encode(journalHead{meter.FormatVersion, build()}); err != nil {
				return err
			}
		}
	}
	if err := enc.Encode(l); err != nil {
		return err
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		// A part of a line may be there. Nothing may follow it: the whole file would be refused.
		j.endWriting()
		return misuse("%v%s", outError(filepath.Dir(j.path), err), j.advice())
	}
	j.size += int64(b.Len())
	j.rows[key] = row
	return nil
}

// begin opens the file behind its last whole line.
func (j *journal) begin() error {
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := f.Truncate(j.size); err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err := f.Seek(j.size, io.SeekStart); err != nil {
		return errors.Join(err, f.Close())
	}
	j.file = f
	return nil
}

// close ends writing and lets others in; what was kept stays for them. It may be called again.
func (j *journal) close() {
	j.endWriting()
	if j.unlock != nil {
		j.unlock()
		j.unlock = nil
	}
}

func (j *journal) endWriting() {
	if j.file != nil {
		_ = j.file.Close() // a row that is not there any more is computed again
		j.file = nil
	}
}

// finished removes the rows once the results are written. Nothing may have been kept. Rows that
// somebody else has left, who was stopped and will come back for them, stay with all others.
func (j *journal) finished() error {
	if j.path == "" {
		return nil // without --out
	}
	if j.others() > 0 {
		j.close()
		return nil
	}
	j.endWriting()           // Windows removes nothing that is open
	err := os.Remove(j.path) // while it is locked: afterwards it may be another's
	j.close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the results are written, and the rows they were made of cannot be removed: %w", err)
	}
	return nil
}

// others is how many rows belong to what this command was not asked for.
func (j *journal) others() int {
	n := 0
	for key := range j.rows {
		if !j.asked[key.fingerprint] {
			n++
		}
	}
	return n
}

// advice says how to go on after a stop.
func (j *journal) advice() string {
	if len(j.rows) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s kept in %s, the same command goes on from there", plural(len(j.rows), "run"), j.path)
}

// journalName is a shard's own: several may be written to one folder.
func journalName(h lab.Shard) string {
	if h.Of == 0 {
		return "rows.jsonl"
	}
	return shardName(h) + ".rows.jsonl"
}
