package spelling

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNearestSuggestsOnlyWhatIsNear(t *testing.T) {
	words := []string{"lease", "heartbeat", "max_failures", "at"}
	for misspelt, want := range map[string]string{
		"leese": "lease", "laese": "lease", "hearbeat": "heartbeat", "max_failure": "max_failures", "maxfailures": "max_failures",
		"ta": "at", "zebra": "", "x": "", "": "",
	} {
		assert.Equal(t, want, Nearest(misspelt, words), misspelt)
	}
}
