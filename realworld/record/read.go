package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/protocol"
)

// Error reports a file that cannot be read as a recording, and where.
type Error struct {
	Path   string
	Offset int64 // in bytes
	What   string

	torn bool // it breaks off before its first step, as that of a process that was killed may
}

func (e *Error) Error() string { return fmt.Sprintf("%s: byte %d: %s", e.Path, e.Offset, e.What) }

// Recording is the life of one worker, or what is left of its recording.
type Recording struct {
	Header   Header
	Segments []Segment // in order; some of their numbers may be missing
	Torn     []string  // files that break off before their first step
}

// Segment is one file of a recording.
type Segment struct {
	Path   string
	Number uint64 // from 1
	First  uint64 // number of its first step, from 1
	At     protocol.Instant

	life     string
	snapshot []byte
	frames   []byte // what follows the opening
	offset   int64  // of frames in the file
}

// Is reports whether path looks like a recording: a file that begins like one, or a folder
// with a file that is named like one.
func Is(path string) bool {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		found, err := filepath.Glob(filepath.Join(escape(path), "*"+Suffix))
		return err == nil && len(found) > 0
	}
	if strings.HasSuffix(path, Suffix) {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(magic))
	n, _ := f.Read(head)
	return n == len(magic) && string(head) == magic
}

func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Read reads the recording that path is part of: a segment, whose others are looked for
// beside it, or a folder that holds the recording of one life. The steps are not read yet.
func Read(path string) (*Recording, error) {
	paths, err := segmentsOf(path)
	if err != nil {
		return nil, err
	}
	r := &Recording{}
	var cut *Error
	for _, p := range paths {
		header, segment, err := readSegment(p)
		if errors.As(err, &cut) && cut.torn {
			r.Torn = append(r.Torn, p)
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(r.Segments) > 0 && segment.life != r.Header.Life {
			return nil, bad(p, 0, "it is of life %s, and the segments before it of life %s; keep recordings apart", segment.life, r.Header.Life)
		}
		r.Header = *header
		r.Segments = append(r.Segments, *segment)
	}
	if len(r.Segments) == 0 {
		return nil, cut
	}
	return r, nil
}

// segmentsOf lists the files of a recording.
func segmentsOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		dir, name := filepath.Split(path)
		prefix, ok := siblings(name)
		if !ok {
			return []string{path}, nil
		}
		found, err := filepath.Glob(escape(dir) + escape(prefix) + "*" + Suffix)
		if err != nil || !slices.Contains(found, path) {
			return []string{path}, err
		}
		return found, nil // sorted, and numbers have leading zeros
	}
	found, err := filepath.Glob(filepath.Join(escape(path), "*"+Suffix))
	if err != nil {
		return nil, err
	}
	var lives []string
	for _, f := range found {
		prefix, _ := siblings(filepath.Base(f))
		if n := len(lives); n == 0 || !strings.HasPrefix(filepath.Base(lives[n-1]), prefix) {
			lives = append(lives, f)
		}
	}
	switch len(lives) {
	case 0:
		return nil, fmt.Errorf("%s: the folder holds no recording; name a file that ends in %s", path, Suffix)
	case 1:
		return found, nil
	default:
		return nil, fmt.Errorf("%s: the folder holds the recordings of %d lives; name a file of one of them:\n  %s", path, len(lives), strings.Join(lives, "\n  "))
	}
}

func bad(path string, at int64, format string, args ...any) error {
	return &Error{Path: path, Offset: at, What: fmt.Sprintf(format, args...)}
}

// torn reports a file that has no step yet.
func torn(path string, at int64) error {
	return &Error{path, at, "it breaks off before its first step: its process was killed as the file was made", true}
}

// readSegment reads a file up to its first step.
func readSegment(path string) (*Header, *Segment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if len(data) < len(magic) && strings.HasPrefix(magic, string(data)) {
		return nil, nil, torn(path, int64(len(data)))
	}
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return nil, nil, bad(path, 0, "it is not a flight recording; recordings are made by realworld/record and end in %s", Suffix)
	}
	f := framesOf(path, data[len(magic):], int64(len(magic)))
	h, err := f.header()
	if err != nil {
		return nil, nil, err
	}
	segment, err := f.opening(h)
	if err != nil {
		return nil, nil, err
	}
	return h, segment, nil
}

// must returns the body of the next frame, which must be of a type.
func (f *frames) must(frame byte, name string) ([]byte, error) {
	body, err := f.next()
	switch {
	case err != nil:
		return nil, err
	case body == nil:
		return nil, torn(f.path, f.at)
	case body[0] != frame:
		return nil, bad(f.path, f.at, "the %s is missing; the file was cut or put together from others", name)
	}
	return body[1:], nil
}

func (f *frames) header() (*Header, error) {
	text, err := f.must(frameHeader, "header")
	if err != nil {
		return nil, err
	}
	var made struct { // the header of another format may have other fields
		Format int    `json:"format"`
		Build  string `json:"build"`
	}
	if err := json.Unmarshal(text, &made); err == nil && made.Format != format {
		return nil, bad(f.path, f.at, "it has format %d, and this version reads format %d; replay it with the version that recorded it (%s)", made.Format, format, made.Build)
	}
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, bad(f.path, f.at, "the header cannot be read: %v", err)
	}
	if err := h.Config.Validate(); err != nil {
		return nil, bad(f.path, f.at, "no worker can have run under its configuration: %v", err)
	}
	return &h, nil
}

func (f *frames) opening(h *Header) (*Segment, error) {
	body, err := f.must(frameOpening, "opening")
	if err != nil {
		return nil, err
	}
	d := decoder{rest: body}
	o := d.opening()
	slots, err := protocol.SnapshotSlots(d.rest)
	switch {
	case d.err != nil:
		return nil, bad(f.path, f.at, "the opening cannot be read: %v", d.err)
	case err != nil:
		return nil, bad(f.path, f.at, "%v", err)
	case slots != h.Slots:
		return nil, bad(f.path, f.at, "the header says %d slots and the snapshot has %d; the file was put together from others", h.Slots, slots)
	}
	return &Segment{
		Path: f.path, Number: o.segment, First: o.step, At: o.now,
		life: h.Life, snapshot: d.rest, frames: f.rest, offset: f.offset,
	}, nil
}

// frames reads one frame after the other.
type frames struct {
	path   string
	rest   []byte
	offset int64 // of rest in the file
	at     int64 // of the frame that was read last
}

func framesOf(path string, rest []byte, offset int64) *frames {
	return &frames{path: path, rest: rest, offset: offset}
}

// next returns the body of the next frame; nil when none follows that is whole. A frame that
// is wrong although others follow is an error: it was not torn, it was damaged.
func (f *frames) next() ([]byte, error) {
	f.at = f.offset
	length, size := binary.Uvarint(f.rest)
	end := uint64(max(size, 0)) + length + crc32.Size
	if size < 0 || size > 0 && (length == 0 || length > 1<<30) && !zero(f.rest) {
		return nil, f.damaged()
	}
	if size <= 0 || length == 0 || end > uint64(len(f.rest)) {
		return nil, nil
	}
	body := f.rest[size : end-crc32.Size]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(f.rest[end-crc32.Size:end]) {
		if end == uint64(len(f.rest)) || zero(f.rest[end:]) {
			return nil, nil
		}
		return nil, f.damaged()
	}
	f.rest = f.rest[end:]
	f.offset += int64(end)
	return body, nil
}

func (f *frames) damaged() error {
	return bad(f.path, f.at, "the file is damaged here: a frame does not have its checksum; take another copy of it, or replay what comes before with --until")
}

// zero reports whether nothing follows but zeros, as after the machine itself went down.
func zero(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 })
}
