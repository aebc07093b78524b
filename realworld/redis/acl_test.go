package redis

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/model/brokertest"
	"github.com/quiesce/quiesce/protocol"
)

// rules are the words of the command in docs/redis.md that makes a user.
func rules(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	require.NoError(t, err)
	command := regexp.MustCompile(`(?s)ACL SETUSER .*?\n\x60\x60\x60`).FindString(string(text))
	require.NotEmpty(t, command, "docs/redis.md has the command")
	return strings.Fields(strings.TrimSuffix(strings.ReplaceAll(command, "\\\n", " "), "```"))
}

// limited starts a server with a user who has the documented rights, on the namespaces of
// tests, and returns how to become that user.
func limited(t *testing.T) (url string, user func(*rueidis.ClientOption)) {
	s := ownServer(t)
	words := rules(t)
	for i, w := range words {
		words[i] = strings.ReplaceAll(strings.ReplaceAll(w, "~quiesce:", "~t*:"), "~{quiesce}:", "~{t*}:")
	}
	require.Equal(t, "OK", admin(t, s.URL())(words...))
	return s.URL(), func(o *rueidis.ClientOption) {
		o.Username, o.Password = words[2], strings.TrimPrefix(words[4], ">")
	}
}

func TestAUserWithTheDocumentedRightsPassesTheKit(t *testing.T) {
	url, user := limited(t)
	brokertest.Run(t, func(t brokertest.TB, cfg brokertest.Config) brokertest.Subject {
		_, namespace := onServer(t)
		return openAs(t, cfg, url, namespace, user)
	})
}

func TestAUserWithTheDocumentedRightsCanDoTheRest(t *testing.T) {
	url, user := limited(t)
	f := newFixture(t, on(url), once, func(o *Options) { o.Client = user })
	inc := f.life("a", 0)
	got := f.claimSoon(inc, 1)
	f.awaitParked(1)
	f.add(Job{Unique: "u", UniqueFor: time.Millisecond}, Job{Priority: 2}, Job{Delay: time.Millisecond}, Job{Kind: "mail"}, Job{Unique: "v"})
	f.soon(got)
	keys := f.bury(3)
	_, err := f.q.Redrive(t.Context(), Filter{Class: "b"}, -1)
	require.NoError(t, err)
	_, err = f.q.DeadLetters(t.Context(), Filter{}, Page{Limit: 1})
	require.NoError(t, err)
	_, err = f.q.Discard(t.Context(), keys...)
	require.NoError(t, err)
	_, err = f.q.Mend(t.Context())
	require.NoError(t, err)
	_, err = f.q.Cancel(t.Context(), f.enqueue(2)[0])
	require.NoError(t, err)
	require.NoError(t, f.Upgrade(t.Context()))
	_, err = f.Abandon(t.Context(), inc, "q")
	require.NoError(t, err)
	f.stats()
	heir := f.life("b", 0)
	g := f.claim(heir, 100, 0)
	require.NotEmpty(t, g)
	assert.Equal(t, protocol.OK, f.settle(g[0], protocol.Ack, 0))
	require.NoError(t, f.Going(t.Context(), heir, "q"))

	err = f.client.Do(t.Context(), f.client.B().Get().Key("another").Build()).Error()
	assert.ErrorContains(t, err, "NOPERM", "a key of somebody else")
	err = f.client.Do(t.Context(), f.client.B().Flushall().Build()).Error()
	assert.ErrorContains(t, err, "NOPERM", "a command that nothing needs")
}

// The rights are what scripts call and what the broker itself sends, nothing more.
func TestTheDocumentedRightsAreTheExactOnes(t *testing.T) {
	want := map[string]bool{}
	for _, c := range []string{"evalsha", "eval", "blpop", "info", "ping", "cluster|slots", "cluster|shards"} {
		want[c] = true
	}
	files, err := sources.ReadDir("lua")
	require.NoError(t, err)
	called := regexp.MustCompile(`call\('([A-Z]+)'`)
	for _, file := range files {
		text, err := sources.ReadFile("lua/" + file.Name())
		require.NoError(t, err)
		for _, m := range called.FindAllStringSubmatch(string(text)+serverClock, -1) {
			want[strings.ToLower(m[1])] = true
		}
	}
	var missing []string
	words := rules(t)
	for c := range want {
		if !slices.Contains(words, "+"+c) {
			missing = append(missing, "+"+c)
		}
	}
	slices.Sort(missing)
	assert.Empty(t, missing, "docs/redis.md does not give them")
	for _, w := range words {
		if c, ok := strings.CutPrefix(w, "+"); ok {
			assert.True(t, want[c], "docs/redis.md gives %s, which nothing needs", c)
		}
	}
	assert.Equal(t, []string{"~quiesce:*", "~{quiesce}:*"}, slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, "~") }))
}
