//go:build unix

package proc_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/realworld/proc"
)

// What the shim costs is the difference.
func BenchmarkChild(b *testing.B) {
	b.Run("shim", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, proc.Command(context.Background(), &scope{}, "true").Run())
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, exec.Command("true").Run())
		}
	})
}
