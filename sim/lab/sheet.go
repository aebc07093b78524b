package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/quiesce/quiesce/model/meter"
)

// Sheet is what a shard leaves in a file: rows, and everything that tells which plan they
// belong to. It holds no time and no place, so equal shards give equal files. The last line
// is the checksum of all that stands before it: no number in it looks wrong when a disk, a
// transfer or a hand has made it another one.
type Sheet struct {
	Format int    `json:"format"` // meter.FormatVersion
	Build  string `json:"build"`  // of the program that made it
	Index  int    `json:"shard"`
	Of     int    `json:"of"`
	Parts  []Part `json:"parts"`  // one per load
	SHA256 string `json:"sha256"` // set by Write
}

// Part is the rows of one plan.
type Part struct {
	Scenario     string          `json:"scenario"` // its name
	Fingerprints []string        `json:"fingerprints"`
	Policies     []string        `json:"policies"`
	Seeds        int             `json:"seeds"` // of the whole plan
	First        uint64          `json:"first_seed"`
	Duration     int64           `json:"duration"` // nanoseconds
	Warmup       int64           `json:"warmup"`
	Cooldown     int64           `json:"cooldown"`
	Load         *float64        `json:"load"`  // null with a trace
	Facts        json.RawMessage `json:"facts"` // whatever a report says of the scenario; not looked into
	Rows         [][]*meter.Row  `json:"rows"`  // by policy, then by replication
}

// maxSheet bounds what is read: ten thousand rows of a large fleet.
const maxSheet = 4 << 30

// sumKey opens the last line of a sheet. What stands before it is summed.
const sumKey = `"sha256":`

func sumLine(text []byte) string {
	return fmt.Sprintf("%s\"%x\"}", sumKey, sha256.Sum256(text))
}

// Write writes the sheet, one part per line.
func (s *Sheet) Write(w io.Writer) error {
	head := *s
	head.Parts = []Part{}
	text, err := json.Marshal(&head)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.Write(text[:bytes.LastIndexByte(text, ']')]) // the list is filled below
	for i := range s.Parts {
		if i > 0 {
			b.WriteByte(',')
		}
		part, err := json.Marshal(&s.Parts[i])
		if err != nil {
			return err
		}
		b.WriteByte('\n')
		b.Write(part)
	}
	b.WriteString("\n],\n")
	b.WriteString(sumLine(b.Bytes()) + "\n")
	_, err = w.Write(b.Bytes())
	return err
}

// ReadSheet reads what Write wrote. Anything else is refused: a file cut short or changed, rows
// that do not fit the plan they claim to belong to, a format of another time.
func ReadSheet(r io.Reader) (*Sheet, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSheet))
	if err != nil {
		return nil, err
	}
	// The format comes first: what differs between formats would only confuse.
	var format struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(text, &format); err != nil {
		return nil, describe(err, text)
	}
	switch {
	case format.Format == nil:
		return nil, errors.New("is no shard of a comparison: it has no format")
	case *format.Format != meter.FormatVersion:
		return nil, fmt.Errorf("has format %d, this program reads format %d; run the shard again with this program", *format.Format, meter.FormatVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var s Sheet
	if err := dec.Decode(&s); err != nil {
		return nil, describe(err, text)
	}
	if s.SHA256 == "" {
		return nil, errors.New("has no checksum: an older program wrote it, or its last line is gone; run the shard again")
	}
	// The text is summed as it stands: a sheet that was read and written anew by another tool,
	// which may have rounded its numbers, is not what the shard left.
	at := bytes.LastIndex(text, []byte(sumKey))
	if at < 0 || string(bytes.TrimSpace(text[at:])) != sumLine(text[:at]) {
		return nil, errors.New("was changed after it was written: its checksum is not that of its rows; copy the file again as it is, or run the shard again")
	}
	return &s, s.check()
}

// describe says where a JSON text went wrong.
func describe(err error, text []byte) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
		if offset >= int64(len(text)) {
			return errors.New("ends in the middle; it was not written to its end, run the shard again")
		}
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 {
		return fmt.Errorf("is no shard of a comparison: %w", err)
	}
	line := bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n")) + 1
	return fmt.Errorf("is no shard of a comparison: line %d, byte %d: %w", line, offset, err)
}

func (s *Sheet) check() error {
	switch {
	case s.Of < 1 || s.Of > MostShards || s.Index < 0 || s.Index >= s.Of:
		return fmt.Errorf("says that it is shard %d of %d, which cannot be", s.Index, s.Of)
	case len(s.Parts) == 0:
		return errors.New("holds no rows")
	}
	for i := range s.Parts {
		if err := s.Parts[i].check(Shard{s.Index, s.Of}); err != nil {
			return fmt.Errorf("%s: %w", s.Parts[i].Scenario, err)
		}
	}
	return nil
}

// mostSeeds keeps a number in a damaged file from being taken for an amount of memory.
const mostSeeds = 1_000_000

func (p *Part) check(h Shard) error {
	switch {
	case p.Seeds < 1 || p.Seeds > mostSeeds:
		return fmt.Errorf("a plan of %d replications cannot be", p.Seeds)
	case len(p.Policies) == 0 || len(p.Fingerprints) != len(p.Policies) || len(p.Rows) != len(p.Policies):
		return fmt.Errorf("%d policies, %d fingerprints and rows of %d do not fit", len(p.Policies), len(p.Fingerprints), len(p.Rows))
	case p.Duration < 1 || p.Warmup < 0 || p.Cooldown < 0:
		return errors.New("a run of no duration cannot be")
	}
	want := 0
	for s := range p.Seeds {
		if h.Has(s) {
			want++
		}
	}
	for i, rows := range p.Rows {
		if len(rows) != want {
			return fmt.Errorf("under %s there are %d rows, shard %v of %d replications has %d", p.Policies[i], len(rows), h, p.Seeds, want)
		}
		for _, row := range rows {
			if row == nil {
				return fmt.Errorf("under %s a row is missing", p.Policies[i])
			}
		}
	}
	return nil
}

// NewPart makes a part of the results of a shard of a plan.
func NewPart(plan *Plan, res *Results, facts json.RawMessage) (Part, error) {
	p := Part{
		Scenario: res.Scenario, Policies: res.Policies, Seeds: plan.Seeds, First: plan.First,
		Duration: res.Setting.Duration, Warmup: res.Setting.Warmup, Cooldown: res.Setting.Cooldown,
		Facts: facts, Rows: res.Rows,
	}
	if load := res.Setting.Load; load == load { // not NaN
		p.Load = &load
	}
	for i := range p.Rows {
		if p.Rows[i] == nil {
			p.Rows[i] = []*meter.Row{} // more shards than replications
		}
	}
	for _, policy := range plan.Policies {
		f, err := Fingerprint(plan.Scenario, policy)
		if err != nil {
			return Part{}, err
		}
		p.Fingerprints = append(p.Fingerprints, f)
	}
	return p, nil
}
