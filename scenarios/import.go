package scenarios

import (
	"context"
	"errors"
	"io"

	"github.com/quiesce/quiesce/scenarios/trace"
)

// ProfileTrace reads a whole job trace and says what is in it. The map may be zero. Every
// error is an [*Error], but for that of ctx when it is done before the trace is read.
func ProfileTrace(ctx context.Context, path string, columns trace.Map) (trace.Profile, error) {
	if problem, remedy := unreadable(path); problem != "" {
		return trace.Profile{}, &Error{File: path, Problem: problem, Remedy: remedy}
	}
	p, err := columns.Profile(ctx, path)
	if stopped := ctx.Err(); stopped != nil && errors.Is(err, stopped) {
		return trace.Profile{}, stopped
	}
	if err != nil {
		return trace.Profile{}, foreign(err)
	}
	return p, nil
}

// WriteTrace writes a job trace in the one form arrival,duration,kind. An error about the
// trace is an [*Error], one about out is passed on as it is.
func WriteTrace(out io.Writer, path string, columns trace.Map) error {
	r, err := columns.Open(path)
	if err != nil {
		return foreign(err)
	}
	defer r.Close() // Only read from: closing it cannot lose anything.
	err = trace.WriteCSV(out, r)
	var bad *trace.Error
	if errors.As(err, &bad) {
		return foreign(err)
	}
	return err
}
