package worker

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMiddlewareWrapsFromTheOutsideIn(t *testing.T) {
	var order []string
	named := func(n string) Middleware {
		return func(h Handler) Handler {
			return func(ctx context.Context, job *Job) error { order = append(order, n); return h(ctx, job) }
		}
	}
	mux := NewMux()
	mux.Use(named("a"), named("b"))
	mux.Handle("job", func(context.Context, *Job) error { order = append(order, "handler"); return nil })
	require.NoError(t, mux.built().kinds[0].wrapped(t.Context(), nil))
	assert.Equal(t, []string{"a", "b", "handler"}, order)
	assert.Panics(t, func() { mux.Handle("job", nil) })
}
