package trace

import (
	"io"
	"path/filepath"
	"strings"
)

// detect looks at the first line that is not blank. A CSV header is asked for first: with
// semicolons and an unnamed first column it opens like an SWF comment. The extension
// decides only between an SWF row cut short and an unknown header.
func detect(l *lines) (rows, error) {
	line, err := l.nextFilled()
	if err == io.EOF {
		return nil, &Error{File: l.file, Problem: "has only blank lines",
			Remedy: "write a header line arrival,duration,kind and one row per job"}
	}
	if err != nil {
		return nil, err
	}
	if header := findHeader(line); header != nil {
		return newCSV(l, header)
	}
	if looksLikeSWF(line) || extension(l.file) == ".swf" {
		l.again = true
		return &swfRows{lines: l, kinds: kinds{}}, nil
	}
	return nil, unknownHeader(l)
}

// extension is that of the packed file when the name ends in .gz.
func extension(name string) string {
	name = strings.ToLower(name)
	return filepath.Ext(strings.TrimSuffix(name, ".gz"))
}
