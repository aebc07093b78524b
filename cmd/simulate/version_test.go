package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Rows of two builds are kept apart by their commits. Without one, or with changes beside it, two
// programs have the same words for themselves and need not agree.
func TestABuildWithoutACommitIsNamedByItsFile(t *testing.T) {
	sum := func() string { return "c0ffee" }
	v := version{Version: "v1.2.0", Commit: "4f00", RulesVersion: 4}
	assert.Equal(t, "v1.2.0 4f00 rules 4", buildOf(v, sum))
	v.Modified = true
	assert.Equal(t, "v1.2.0 4f00 rules 4 modified, binary c0ffee", buildOf(v, sum))
	assert.Equal(t, "(devel) unknown rules 4, binary c0ffee", buildOf(version{Version: "(devel)", Commit: unknownCommit, RulesVersion: 4}, sum))
	assert.Regexp(t, `^[0-9a-f]{12}$`, binarySum())
}
