package model

import (
	"testing"

	"github.com/quiesce/quiesce/internal/deviation"
	"github.com/quiesce/quiesce/protocol"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPresetsAreThoseOfTheDocumentation(t *testing.T) {
	assert.Equal(t, []string{"none", "crash-only", "deaf", "finish-only", "drain", "drain+sweep", "hybrid", "release-now", "adaptive"}, PresetNames())
	for _, name := range PresetNames() {
		p, err := PresetNamed(name)
		require.NoError(t, err)
		assert.Equal(t, name, p.Name)
		assert.NotEmpty(t, p.About)
		assert.Equal(t, deviation.Set{}, p.Deviations, "%s is meant to be sound", name)
	}
}

func TestAnUnknownPresetIsAnErrorThatListsThoseThereAre(t *testing.T) {
	_, err := PresetNamed("hybird")
	require.EqualError(t, err, `there is no policy "hybird"; use one of adaptive, crash-only, deaf, drain, drain+sweep, finish-only, hybrid, none, release-now`)
}

func TestThePresetHybridIsTheZeroPolicy(t *testing.T) {
	p, err := PresetNamed("hybrid")
	require.NoError(t, err)
	assert.Equal(t, protocol.Policy{}, p.Policy)
	assert.Equal(t, RescueByExpiry, p.Rescue)
}

func TestDrainAndHybridDifferInTheirRescueAlone(t *testing.T) {
	drain, _ := PresetNamed("drain")
	hybrid, _ := PresetNamed("hybrid")
	assert.Equal(t, hybrid.Policy, drain.Policy)
	assert.Equal(t, NoRescue, drain.Rescue)
}

func TestTheListOfPresetsIsACopy(t *testing.T) {
	PresetNames()[0] = "changed"
	assert.Equal(t, "none", PresetNames()[0])
}
