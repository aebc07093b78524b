package worker

import (
	"errors"
	"fmt"

	"github.com/quiesce/quiesce/protocol"
)

// Causes of a cancelled handler, found with context.Cause.
var (
	ErrDraining  = errors.New("worker: the drain's time for this job is over")
	ErrHurry     = errors.New("worker: the drain was told to hurry")
	ErrLeaseLost = errors.New("worker: the lease is lost, another worker may own the job")
	ErrTimeout   = errors.New("worker: the job kind's time limit is over")
	ErrCancelled = errors.New("worker: an operator cancelled the job")
)

// Yield, returned by a handler, hands the job back: it is run again and nobody is blamed.
//
//lint:ignore ST1012 it is read at the return of a handler: return worker.Yield
var Yield = errors.New("worker: yield")

// failure marks an error that counts as a failure whatever the cause of the cancel.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// Failed marks err as a failure of the job. A handler's error counts as one anyway, unless
// the handler had been cancelled: then it counts as an interruption, and Failed says that
// it is not.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return failure{err}
}

func causeError(c protocol.Cause) error {
	switch c {
	case protocol.ErrDraining:
		return ErrDraining
	case protocol.ErrHurry:
		return ErrHurry
	case protocol.ErrLeaseLost:
		return ErrLeaseLost
	case protocol.ErrTimeout:
		return ErrTimeout
	default:
		return ErrCancelled
	}
}

// PanicError is what a handler's panic is recorded as.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("worker: handler panicked: %v", e.Value) }

// Unwrap returns the value of the panic if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

var errGoexit = errors.New("worker: the handler ended its goroutine without returning")
