package realworld_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/realworld"
)

func TestThePodKnowsWhenItEnds(t *testing.T) {
	var answer func(rw http.ResponseWriter)
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/api/v1/namespaces/media/pods/render-0", r.URL.Path)
		assert.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		answer(rw)
	}))
	defer server.Close()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"namespace": "media", "token": "secret\n",
		"ca.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	pod := realworld.Pod{Name: "render-0", Server: server.URL, Accounts: dir}

	// The server's clock is years ahead of ours, and only its own differences count.
	served := time.Date(2042, 1, 2, 3, 4, 5, 0, time.UTC)
	deleted := func(at time.Time) func(http.ResponseWriter) {
		return func(rw http.ResponseWriter) {
			rw.Header().Set("Date", served.Format(http.TimeFormat))
			fmt.Fprintf(rw, `{"metadata":{"deletionTimestamp":%q}}`, at.Format(time.RFC3339))
		}
	}
	answer = deleted(served.Add(31 * time.Second))
	before := time.Now()
	at, err := pod.KillAt(t.Context())
	require.NoError(t, err)
	assert.False(t, at.Before(before.Add(30*time.Second)))
	assert.False(t, at.After(time.Now().Add(30*time.Second)))

	answer = deleted(served.Add(-time.Minute))
	at, err = pod.KillAt(t.Context())
	require.NoError(t, err)
	assert.False(t, at.After(time.Now()))

	answer = func(rw http.ResponseWriter) { fmt.Fprint(rw, `{"metadata":{}}`) }
	_, err = pod.KillAt(t.Context())
	assert.ErrorIs(t, err, realworld.ErrNotDeleted)

	answer = func(rw http.ResponseWriter) { fmt.Fprint(rw, "<html>") }
	_, err = pod.KillAt(t.Context())
	assert.ErrorContains(t, err, "the API server's answer is no pod")

	answer = func(rw http.ResponseWriter) {
		rw.Header()["Date"] = nil
		fmt.Fprintf(rw, `{"metadata":{"deletionTimestamp":%q}}`, served.Format(time.RFC3339))
	}
	_, err = pod.KillAt(t.Context())
	assert.ErrorContains(t, err, "does not say what time it is")

	answer = func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusNotFound) }
	_, err = pod.KillAt(t.Context())
	assert.ErrorContains(t, err, "404 Not Found when asked for pod render-0")

	answer = func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusForbidden) }
	_, err = pod.KillAt(t.Context())
	assert.ErrorContains(t, err, "the verb get on pods")

	_, err = realworld.Pod{Accounts: dir}.KillAt(t.Context())
	assert.ErrorContains(t, err, "this is no pod")
}
