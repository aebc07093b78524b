package scenarios

import (
	"errors"

	"github.com/quiesce/quiesce/scenarios/manifest"
	"github.com/quiesce/quiesce/scenarios/trace"
)

// foreign passes on an error about a trace or a manifest with the place it names, so that a
// caller of this package has one type of error to look at.
func foreign(err error) *Error {
	var t *trace.Error
	var m *manifest.Error
	switch {
	case errors.As(err, &t):
		return &Error{File: t.File, Line: t.Line, Column: t.Column, Field: t.Field, Source: t.Source,
			Problem: t.Problem, Remedy: t.Remedy, cause: err}
	case errors.As(err, &m):
		return &Error{File: m.File, Line: m.Line, Column: m.Column, Field: m.Field, Source: m.Source,
			Problem: m.Problem, Remedy: m.Remedy, cause: err}
	}
	return &Error{Problem: err.Error(), cause: err}
}
