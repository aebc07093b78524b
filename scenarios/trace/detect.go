package trace

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
)

// detect tells the format. JSON goes by its first character. Then a CSV header is asked for:
// with semicolons and an unnamed first column it opens like an SWF comment. The extension
// decides only between an SWF row cut short and an unknown header.
func detect(l *lines, m Map, k *kinds) (rows, error) {
	// An error of Peek is not lost: whoever reads on meets it again.
	head, _ := l.in.Peek(512)
	if head = bytes.TrimLeft(head, " \t\r\n"); len(head) > 0 && (head[0] == '[' || head[0] == '{') {
		return newJSON(l, m, k), nil
	}
	line, err := l.nextFilled()
	if err == io.EOF {
		return nil, &Error{File: l.file, Problem: "has only blank lines",
			Remedy: "write a header line arrival,duration,kind and one row per job"}
	}
	if err != nil {
		return nil, err
	}
	if !m.IsZero() {
		header, err := splitHeader(l)
		if err != nil {
			return nil, err
		}
		rows, err := newMappedCSV(l, header, m.form(), k)
		if err != nil && looksLikeSWF(line) {
			return nil, l.fail(1, "", "file is in the Standard Workload Format, whose columns are known", "leave the map out")
		}
		return rows, err
	}
	if header := findHeader(line); header != nil {
		return newCSV(l, header, k)
	}
	if looksLikeSWF(line) || extension(l.file) == ".swf" {
		l.again = true
		return &swfRows{lines: l, kinds: k}, nil
	}
	if header, err := splitHeader(l); err == nil && header.find("end_timestamp") != nil && header.find("func") != nil {
		return newMappedCSV(l, header, azure, k)
	}
	return nil, unknownHeader(l)
}

// splitHeader splits the first line of a CSV file at the separator that it has most of.
func splitHeader(l *lines) (*splitter, error) {
	header := &splitter{separator: likelySeparator(l.text)}
	if bad := header.feed(l.text, l.number); bad != nil {
		return nil, l.fail(bad.column, "", bad.problem, bad.remedy)
	}
	if header.open {
		return nil, l.fail(header.cells[len(header.cells)-1].column, "", "quote is never closed", "close it on the header line")
	}
	return header, nil
}

// extension is that of the packed file when the name ends in .gz.
func extension(name string) string {
	name = strings.ToLower(name)
	return filepath.Ext(strings.TrimSuffix(name, ".gz"))
}
