package trace

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxLine bounds the memory a line can take. The longest line of the archive logs we
// read has 1,375 bytes; 1 MiB leaves room for logs with whole messages in a cell.
const maxLine = 1 << 20

const isEmpty = "is empty"

// lines cuts the text of a trace into lines, and knows where it is for the errors.
type lines struct {
	file   string
	in     *bufio.Reader
	number int    // of the current line, from 1
	text   []byte // the current line without its end; valid until the next call of next
	again  bool   // next is to give the current line once more
}

// next returns the next line without LF or CRLF, an *Error, or io.EOF.
func (l *lines) next() ([]byte, error) {
	if l.again {
		l.again = false
		return l.text, nil
	}
	text, err := l.in.ReadSlice('\n')
	if err == io.EOF && len(text) == 0 {
		return nil, io.EOF
	}
	l.number++
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		// What came before the error may be half a row, so it is not given out.
		return nil, l.readError(err)
	}
	l.text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if l.number == 1 {
		if at := bytes.IndexByte(l.text, '\r'); at >= 0 {
			return nil, l.fail(at+1, "", "lines end in a carriage return alone", fmt.Sprintf("write line feeds: tr '\\r' '\\n' < %s > converted.csv", l.file))
		}
	}
	if err == bufio.ErrBufferFull || len(l.text) > maxLine {
		return nil, l.fail(0, "", fmt.Sprintf("line is longer than %d bytes", maxLine),
			"end each row with a line feed, and leave long texts out")
	}
	return l.text, nil
}

// nextFilled is next without the blank lines.
func (l *lines) nextFilled() ([]byte, error) {
	for {
		text, err := l.next()
		if err != nil || len(bytes.TrimSpace(text)) > 0 {
			return text, err
		}
	}
}

// fail describes a problem of the current line.
func (l *lines) fail(column int, field, problem, remedy string) *Error {
	source, mark := excerpt(l.text, column)
	return &Error{File: l.file, Line: l.number, Column: column, Field: field,
		Source: source, Problem: problem, Remedy: remedy, mark: mark}
}

func (l *lines) readError(err error) *Error {
	e := &Error{File: l.file, Line: l.number, cause: err}
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Problem, e.Remedy = "gzip data end too early, or something follows them", "copy or download the file again; gzip -t checks it"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		e.Problem, e.Remedy = fmt.Sprintf("gzip data are damaged (%v)", err), "copy or download the file again; gzip -t checks it"
	default:
		e.Problem, e.Remedy = fmt.Sprintf("cannot be read: %v", err), "check the disk or the connection and read again"
	}
	return e
}

// foreign lists beginnings of files that are no text, or text in another encoding.
var foreign = []struct{ magic, problem, remedy string }{
	{"\x1f\x8b", "is compressed by gzip twice", "gunzip it once"},
	{"PK\x03\x04", "is a zip archive", "unzip it and name the file inside"},
	{"\x28\xb5\x2f\xfd", "is compressed by zstd", "decompress it, or compress it with gzip"},
	{"\xfd7zXZ\x00", "is compressed by xz", "decompress it, or compress it with gzip"},
	{"BZh", "is compressed by bzip2", "decompress it, or compress it with gzip"},
	{"\xff\xfe", "is UTF-16 text", "save it as UTF-8"},
	{"\xfe\xff", "is UTF-16 text", "save it as UTF-8"},
}

const byteOrderMark = "\xef\xbb\xbf"

// openLines unpacks gzip, passes over a byte order mark, and refuses what is not text.
func openLines(name string, in io.Reader) (*lines, error) {
	packed := bufio.NewReader(in)
	text := io.Reader(packed)
	l := &lines{file: name}
	if magic, _ := packed.Peek(2); bytes.Equal(magic, []byte("\x1f\x8b")) {
		unpacked, err := gzip.NewReader(packed)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, l.readError(err)
		}
		text = unpacked
	}
	// The buffer holds the longest legal line with its end, so no line is ever copied.
	l.in = bufio.NewReaderSize(text, maxLine+len("\r\n"))
	// An error of Peek is not lost: the first line meets it again.
	head, err := l.in.Peek(512)
	if len(head) == 0 && err == io.EOF {
		return nil, &Error{File: name, Problem: isEmpty,
			Remedy: "write a header line arrival,duration,kind and one row per job"}
	}
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		l.in.Discard(len(byteOrderMark)) // Cannot fail: these bytes are buffered.
		head = head[len(byteOrderMark):]
	}
	return l, checkText(name, head)
}

// checkText returns a plain error, since a nil *Error in an error is not nil.
func checkText(name string, head []byte) error {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return &Error{File: name, Problem: f.problem, Remedy: f.remedy}
		}
	}
	for i, b := range head {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' {
			return &Error{File: name, Problem: fmt.Sprintf("is not text: byte %d is %#02x", i+1, b),
				Remedy: "give a CSV or SWF file, plain or packed by gzip"}
		}
	}
	return nil
}

// printable reports whether a kind can stand in a report.
func printable(text []byte) bool {
	return utf8.Valid(text) && bytes.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}
