package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The race detector is left out where there is nothing that it could find, and nowhere else.
func TestMakeLeavesTheRaceDetectorOutOfPurePackagesOnly(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^PURE = (.*)$`).FindStringSubmatch(string(text))
	require.NotNil(t, row, "no PURE in the Makefile")
	assert.Equal(t, pure, strings.Fields(row[1]))
}
