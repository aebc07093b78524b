package spelling

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestASlipIsToldFromAnotherWord(t *testing.T) {
	words := []string{"stop_grace_period", "stopTimeout", "TimeoutStopSec", "SendSIGKILL", "stopasgroup", "preStop", "replicas"}
	for written, want := range map[string]string{
		"stop_grace_perod": "stop_grace_period", "stopGracePeriod": "stop_grace_period", "stop-grace-periods": "stop_grace_period",
		"TimeoutStopsec": "TimeoutStopSec", "TimeoutStopSecs": "TimeoutStopSec", "prestop": "preStop", "replica": "replicas",
		// Words of the same formats that mean something else.
		"startTimeout": "", "TimeoutStartSec": "", "TimeoutSec": "", "SendSIGHUP": "", "killasgroup": "", "postStart": "", "stop_signal": "",
		// What is right, and what is like nothing.
		"stopTimeout": "", "replicas": "", "image": "", "": "",
	} {
		assert.Equal(t, want, Slip(written, words), written)
	}
}
