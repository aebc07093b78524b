package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGuardRefusesWhatCannotWork(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"guard"}, "write simulate guard -- ./worker"},
		{[]string{"guard", "--redis", "localhost:6379", "--", "true"}, "write for example redis://localhost:6379"},
		{[]string{"guard", "--redsi", "x", "--", "true"}, "--redis"},
		{[]string{"guard", "--patience", "-1s", "--", "true"}, "--patience -1s: is not a length of time; write it like 90s"},
		{[]string{"guard", "--", "there-is-no-such-program"}, "executable file not found"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, exitMisuse, run(context.Background(), c.args, &stdout, &stderr), "%v", c.args)
		assert.Contains(t, stderr.String(), c.says)
		assert.Empty(t, stdout.String())
	}
}
