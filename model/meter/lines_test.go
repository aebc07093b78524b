package meter

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

// With millions of jobs a visit to one costs what its lines of memory cost.
func TestAJobIsOneLineOfMemory(t *testing.T) {
	assert.EqualValues(t, 64, reflect.TypeFor[job]().Size())
}
