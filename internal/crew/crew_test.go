package crew_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/quiesce/quiesce/internal/crew"
)

func TestWhoHasNothingToDoIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		c := crew.New(over)
		before := runtime.NumGoroutine()
		first := make(chan struct{})
		ran := 0
		c.Go(func() { <-first; ran++ })
		c.Go(func() { ran++ }) // nobody waits for work: the first is at it
		synctest.Wait()
		assert.Equal(t, before+2, runtime.NumGoroutine())
		for range 10 {
			c.Go(func() { ran++ })
			synctest.Wait()
		}
		assert.Equal(t, before+2, runtime.NumGoroutine(), "the second waited for work")
		assert.Equal(t, 11, ran)

		close(over)
		synctest.Wait()
		assert.Equal(t, before+1, runtime.NumGoroutine(), "who waited has left")
		close(first)
		synctest.Wait()
		assert.Equal(t, before, runtime.NumGoroutine(), "who was at work leaves after it")
		assert.Equal(t, 12, ran)
		c.Go(func() { ran++ }) // afterwards, too
		synctest.Wait()
		assert.Equal(t, 13, ran)
		assert.Equal(t, before, runtime.NumGoroutine())
	})
}
