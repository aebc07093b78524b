package redis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhoCannotGetInIsToldWhatToDo(t *testing.T) {
	locked := ownServer(t, "--requirepass", "sesame")
	primary := ownServer(t)
	replica := ownServer(t, "--replicaof", "127.0.0.1", "1") // it is one whether or not its primary answers
	open := func(url string) error {
		b, err := Open(t.Context(), Options{URL: url, Queues: []QueueConfig{{Name: "q"}}, Timeout: 5 * time.Second})
		if err == nil {
			b.Close()
		}
		return err
	}
	require.NoError(t, open(primary.URL()))
	for url, want := range map[string]string{
		locked.URL():                      "the URL names no password; write it like redis://user:password@host:6379/0",
		replica.URL():                     "it is a replica; name the primary",
		"unix:///tmp/no/such/socket":      "start the server, or correct the URL",
		"redis://127.0.0.1:1":             "connection refused; start the server, or correct the URL",
		"localhost:6379":                  "redis: URL: invalid URL scheme: localhost; write it like redis://",
		"redis://:hush@localhost:port":    "redis: URL: it cannot be read; write it like redis://",
		"redis://:hush%zz@localhost:6379": "%40 for an @ in the password",
	} {
		err := open(url)
		assert.ErrorContains(t, err, want, url)
		assert.NotContains(t, err.Error(), "hush", "a password does not get into logs")
	}
}
