package grace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "30": 30 * time.Second, "1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond,
	} {
		d, ok := Parse(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, d, text)
	}
	for _, text := range []string{"", "0", "0s", "-5s", "soon", "30 s", "1e9", "99999999999"} {
		_, ok := Parse(text)
		assert.False(t, ok, text)
	}
}
