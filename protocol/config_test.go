package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithDefaults(t *testing.T) {
	filled := Config{Grace: 18 * Second}.WithDefaults()
	require.Equal(t, Config{
		Queues: 1, Lease: 5 * Minute, Heartbeat: 100 * Second, Margin: Second,
		Park: 20 * Second, Reply: Second,
		Poll: Backoff{100 * Millisecond, 2 * Second}, Retry: Backoff{200 * Millisecond, 2 * Second},
		RefuseDelay: 5 * Second, BusyDelay: 5 * Second,
		Grace: 18 * Second, Reserve: 3 * Second,
	}, filled)
	require.Equal(t, filled, filled.WithDefaults(), "what is filled in stays")
	require.NoError(t, filled.Validate())

	for grace, reserve := range map[Duration]Duration{Second: 500 * Millisecond, 6 * Second: Second, 10 * Minute: 5 * Second} {
		require.Equal(t, reserve, Config{Grace: grace}.WithDefaults().Reserve, "grace %v", grace)
	}
	require.Equal(t, 200*Millisecond, Config{Lease: 10 * Second}.WithDefaults().Margin, "a fiftieth of a short lease")
}

// Every refusal names both numbers that do not go together.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Config)
		want  string
	}{
		{"no grace", func(c *Config) { c.Grace = 0 }, "grace is not known; give what the supervisor allows between SIGTERM and SIGKILL"},
		{"reserve eats the grace", func(c *Config) { c.Grace, c.Reserve = 5*Second, 8*Second }, "grace 5s must exceed reserve 8s; raise grace or lower reserve"},
		{"a kind does not fit", func(c *Config) { c.Kinds[0].Gap, c.Kinds[0].Undo = 20*Second, 10*Second }, "kind 0 needs gap 20s + undo 10s + reserve 5s = 35s, more than grace 30s; check for cancellation more often, undo faster, or raise grace"},
		{"a kind never fits", func(c *Config) { c.Kinds[0].Gap, c.Kinds[0].Undo = Forever-1, Forever-1 }, "= forever, more than grace 30s"},
		{"heartbeat as long as the lease", func(c *Config) { c.Heartbeat = c.Lease }, "heartbeat 5m0s must be shorter than lease 5m0s; a third of the lease survives one lost renewal"},
		{"no lease would be trusted", func(c *Config) { c.Lease, c.Heartbeat, c.Margin, c.DriftPPM = 10*Second, Second, 6*Second, 400_000 }, "margin 6s must be within lease 10s less a drift of 400000 ppm"},
		{"drift", func(c *Config) { c.DriftPPM = 500_000 }, "drift 500000 ppm must be between 0 and 499999"},
		{"queues", func(c *Config) { c.Queues = 256 }, "queues 256 must be between 1 and 255"},
		{"lease", func(c *Config) { c.Lease = -Second }, "lease -1s must be positive"},
		{"heartbeat", func(c *Config) { c.Heartbeat = 0 }, "heartbeat 0s must be positive"},
		{"reply", func(c *Config) { c.Reply = 0 }, "reply timeout 0s must be positive"},
		{"park", func(c *Config) { c.Park = -1 }, "long poll -1ns must not be negative"},
		{"poll falls", func(c *Config) { c.Poll = Backoff{2 * Second, Second} }, "poll backoff 2s to 1s must be positive and rising"},
		{"retry is zero", func(c *Config) { c.Retry = Backoff{} }, "retry backoff 0s to 0s must be positive and rising"},
		{"reserve", func(c *Config) { c.Reserve = -Second }, "reserve -1s must not be negative"},
		{"delays", func(c *Config) { c.BusyDelay = -Second }, "delays of refused jobs 5s and busy jobs -1s must not be negative"},
		{"policy", func(c *Config) { c.Policy.OnStop = 4 }, "policy {OnStop:4 LateClaim:0 Deadline:0 Constant:0s AtDeadline:0 Estimates:0} has a choice that does not exist"},
		{"late claims", func(c *Config) { c.Policy.LateClaim = 3 }, "LateClaim:3"},
		{"deadline", func(c *Config) { c.Policy.Deadline = 3 }, "Deadline:3"},
		{"at the deadline", func(c *Config) { c.Policy.AtDeadline = 2 }, "AtDeadline:2"},
		{"estimates", func(c *Config) { c.Policy.Estimates = 2 }, "Estimates:2"},
		{"constant", func(c *Config) { c.Policy.Deadline = DeadlineFromConstant }, "the constant deadline 0s must be positive"},
		{"kind", func(c *Config) { c.Kinds[0].Timeout = -Second }, "kind 0: gap 1s, undo 1s and timeout -1s must not be negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{Kinds: []KindConfig{{Gap: Second, Undo: Second}}, Grace: 30 * Second}.WithDefaults()
			require.NoError(t, cfg.Validate())
			c.spoil(&cfg)
			require.ErrorContains(t, cfg.Validate(), c.want)
		})
	}
}

func TestValidateJoinsEverything(t *testing.T) {
	err := Config{Lease: Second, Heartbeat: 2 * Second}.Validate()
	for _, part := range []string{"queues", "heartbeat", "reply", "poll", "retry", "grace"} {
		require.ErrorContains(t, err, part)
	}
}

func TestPoliciesThatNeedNoGrace(t *testing.T) {
	for name, p := range map[string]Policy{
		"die": {OnStop: DieOnStop}, "ignore": {OnStop: IgnoreOnStop}, "no deadline": {Deadline: NoDeadline},
		"constant": {Deadline: DeadlineFromConstant, Constant: Second},
	} {
		require.NoError(t, Config{Policy: p}.WithDefaults().Validate(), name)
	}
}

func TestOverlapPossible(t *testing.T) {
	cfg := Config{Lease: 30 * Second, Kinds: []KindConfig{{Gap: Second}, {Gap: 19 * Second}, {Gap: 20 * Second}}}.WithDefaults()
	require.False(t, cfg.OverlapPossible(0))
	require.False(t, cfg.OverlapPossible(1))
	require.True(t, cfg.OverlapPossible(2), "heartbeat 10 s + gap 20 s reach the end of trust")
}
