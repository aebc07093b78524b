package trace

import (
	"fmt"
	"strings"
)

// mappedCSV reads a CSV file whose columns have other names than ours.
type mappedCSV struct {
	csvRows
	evaluator
	at    [roles]int // column of each role; -1 for none
	cells [roles][]byte
}

// newMappedCSV finds the columns of a form in the header.
func newMappedCSV(l *lines, header *splitter, f *form, k *kinds) (rows, error) {
	c := &mappedCSV{
		csvRows:   csvRows{lines: l, split: splitter{separator: header.separator}, columns: columns{count: len(header.cells)}},
		evaluator: evaluator{form: f, kinds: k},
	}
	for r := range roles {
		c.at[r] = -1
		if !f.has(r) {
			continue
		}
		name := f.columns[r].Name
		found := header.find(name)
		switch {
		case len(found) == 0:
			return nil, noColumn(l, header, name, roleNames[r])
		case len(found) > 1:
			return nil, l.fail(header.cells[found[1]].column, roleNames[r],
				fmt.Sprintf("header names %s twice", name), "rename one of the two columns")
		}
		c.at[r] = found[0]
	}
	return c, nil
}

func noColumn(l *lines, header *splitter, name, field string) *Error {
	var names []string
	for i := range header.cells {
		names = append(names, string(header.value(i)))
	}
	remedy, column := "it has "+listNames(names), 1
	if i := nearestName(names, name); i >= 0 {
		remedy, column = fmt.Sprintf("did you mean %s? %s", strings.Map(visible, names[i]), remedy), header.cells[i].column
	}
	return l.fail(column, field, fmt.Sprintf("header has no column %s", quote([]byte(name))), remedy)
}

// nearestName returns the name that is at most two letters away, or -1.
func nearestName(names []string, name string) int {
	best, at := min(3, len(name)), -1
	for i, have := range names {
		if d := distance(strings.ToLower(have), strings.ToLower(name)); d < best {
			best, at = d, i
		}
	}
	return at
}

// listNames names columns in an error, not more than fit.
func listNames(names []string) string {
	const most = 300
	list := strings.Map(visible, strings.Join(names, ", "))
	if len(list) > most {
		return list[:strings.LastIndex(list[:most], ", ")+1] + " …"
	}
	return list
}

func (c *mappedCSV) next() (row, string, error) {
	if err := c.record(); err != nil {
		return row{}, "", err
	}
	for r, at := range c.at {
		if at >= 0 {
			c.cells[r] = c.split.value(at)
		}
	}
	r, skip, bad := c.job(&c.cells, c.start)
	if bad != nil {
		return row{}, "", c.fail(c.at[bad.role], roleNames[bad.role], bad.problem, bad.remedy)
	}
	return r, skip, nil
}

func (c *mappedCSV) anyOrder() bool { return true }

func (c *mappedCSV) unsorted(delivered row, window int) *Error {
	at := roleArrival
	if !c.has(at) {
		at = roleEnd
	}
	problem, remedy := explainUnsorted(roleNames[at], c.split.value(c.at[at]), delivered, window)
	return c.fail(c.at[at], roleNames[at], problem, remedy+
		fmt.Sprintf("sort -t%s -k%d,%d, with the header line left on top", shellSeparator(c.split.separator), c.at[at]+1, c.at[at]+1))
}
