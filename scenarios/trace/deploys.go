package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ReadDeploys reads a history of deploys: a CSV file, gzipped or not, with one column whose
// name begins with time, such as time_utc. With an app, only rows count whose column app has
// that value. The instants rise and differ: what happens at the same moment is one deploy.
//
// Offsets count from the start of the run, dates from the first row that counts. Every error
// is an *[Error].
func ReadDeploys(path, app string) ([]time.Duration, error) {
	l, done, err := openText(path, "history of deploys")
	if err != nil {
		return nil, err
	}
	defer done() // Only read from: closing it cannot lose anything.
	t, err := newTable(l)
	if err != nil {
		return nil, err
	}
	at, err := t.only("time", "rename all but the one that holds the instants, so that one name begins with time",
		func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "time") })
	if err == nil && at < 0 {
		err = t.lacks("time", "call the column with the instants time")
	}
	if err != nil {
		return nil, err
	}
	of := -1
	if app != "" {
		if of, err = t.need("app", "drop the filter by app, or call the column app"); err != nil {
			return nil, err
		}
	}
	var clock clock
	var list []time.Duration
	var others []string
	err = t.each(func(cell func(int) []byte, fail func(int, string, string) error) error {
		ns, problem, remedy := clock.read(t.names[at], cell(at), 0, t.start)
		if problem != "" {
			return fail(at, problem, remedy)
		}
		if of >= 0 && string(cell(of)) != app {
			others = noteName(others, string(cell(of)))
			return nil
		}
		if len(list) == maxEvents {
			return fail(at, fmt.Sprintf("row is one more than %d deploys", maxEvents), "cut the history in pieces")
		}
		list = append(list, time.Duration(ns))
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0 && app != "":
		return nil, &Error{File: path, Field: "app", Problem: fmt.Sprintf("has no deploy of app %q", app), Remedy: otherApps(others, app)}
	case len(list) == 0:
		return nil, &Error{File: path, Problem: "has no deploys", Remedy: "write one row for each below the header"}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if clock.written != offset {
		for first, i := list[0], 0; i < len(list); i++ {
			list[i] -= first
		}
	}
	return list, nil
}

// noteName keeps the first few hundred different names for an error.
func noteName(names []string, name string) []string {
	const enough = 300
	if len(names) == enough || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

func otherApps(names []string, app string) string {
	remedy := "it has " + listNames(names)
	if i := nearestName(names, app); i >= 0 {
		remedy = fmt.Sprintf("did you mean %s? %s", strings.Map(visible, names[i]), remedy)
	}
	return remedy
}
