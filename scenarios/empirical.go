package scenarios

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/quiesce/quiesce/model/dist"
)

// maxObservations bounds what an empirical file may hold in memory; beyond it, more values
// would not change the table.
const maxObservations = 1_000_000

// empirical reads a file of observed durations, one per line. Empty lines are passed over.
func (r *reader) empirical(p place, name string) *dist.Table {
	path := r.path(name)
	if !r.regular(p, path) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		r.fail(p, "names "+path+", which cannot be opened: "+reason(err), "check who may read it")
		return nil
	}
	defer f.Close()
	var values []int64
	lines := bufio.NewScanner(f)
	for line := 1; lines.Scan(); line++ {
		row := strings.TrimSpace(lines.Text())
		if row == "" {
			continue
		}
		written := row
		if plainNumber.MatchString(row) {
			written += "s"
		}
		v, problem, _ := parseDuration(written)
		if problem == "" && len(values) == maxObservations {
			problem = fmt.Sprintf("is one more than %d values", maxObservations)
		}
		if problem != "" {
			r.elsewhere(p, &Error{File: path, Line: line, Column: strings.Index(lines.Text(), row) + 1,
				Source: lines.Text(), Problem: problem, Remedy: "write one duration per line, in seconds or as 1m30s"})
			return nil
		}
		values = append(values, int64(v))
	}
	if err := lines.Err(); err != nil {
		r.fail(p, "names "+path+", which cannot be read: "+reason(err), "write one duration per line")
		return nil
	}
	if len(values) == 0 {
		r.fail(p, "names "+path+", which holds no durations", "write one per line, in seconds or as 1m30s")
		return nil
	}
	return r.made(p, func(int64) (*dist.Table, error) { return dist.Empirical(values) }, 0)
}
