package realworld_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quiesce/quiesce/protocol"
	"github.com/quiesce/quiesce/protocol/worker"
	"github.com/quiesce/quiesce/realworld"
)

// resting is a worker that does not run.
type resting struct{}

func (resting) Ready() bool                  { return false }
func (resting) SecondsLeft() (float64, bool) { return 0, false }
func (resting) Status() int                  { return 0 }

func TestOrdersAreTakenFromThisHostOnly(t *testing.T) {
	stops := realworld.NewStops()
	defer stops.Close()
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:80"} {
		_, err := realworld.Listen(address, resting{}, stops, realworld.EndpointOptions{})
		assert.ErrorContains(t, err, "whoever reaches "+address+" could drain this worker", address)
	}
	for _, address := range []string{"8080", "unix:"} {
		_, err := realworld.Listen(address, resting{}, stops, realworld.EndpointOptions{})
		assert.ErrorContains(t, err, "write for example unix:/run/render/0.sock", address)
	}
	_, err := realworld.Listen("unix:"+filepath.Join(t.TempDir(), strings.Repeat("s", 120)), resting{}, stops, realworld.EndpointOptions{})
	assert.ErrorContains(t, err, "more than systems take for the path of a socket")
	for _, address := range []string{"127.0.0.1:0", "localhost:0"} {
		e, err := realworld.Listen(address, resting{}, stops, realworld.EndpointOptions{})
		require.NoError(t, err)
		require.NoError(t, e.Close())
	}
	e, err := realworld.Listen(":0", resting{}, stops, realworld.EndpointOptions{AllowRemote: true})
	require.NoError(t, err)
	require.NoError(t, e.Close())
}

func TestWhatAnEndpointUnderstands(t *testing.T) {
	stops := realworld.NewStops()
	defer stops.Close()
	e, err := realworld.Listen("127.0.0.1:0", resting{}, stops, realworld.EndpointOptions{})
	require.NoError(t, err)
	defer e.Close()
	do := func(method, path string, header ...string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+e.Addr().String()+path, nil)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, strings.TrimSpace(string(body))
	}
	status, _ := do("GET", "/drain")
	assert.Equal(t, http.StatusMethodNotAllowed, status)
	status, _ = do("GET", "/nothing")
	assert.Equal(t, http.StatusNotFound, status)
	status, body := do("GET", "/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, `{"ready":false,"draining":false}`, body)

	for _, page := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://evil.example"}} {
		status, body = do("GET", "/prestop", page...)
		assert.Equal(t, http.StatusForbidden, status)
		assert.Contains(t, body, "browsers")
	}
	for path, says := range map[string]string{
		"/drain?kill_after=soon":                            "write for example 30s",
		"/drain?kill_after=-3s":                             "write for example 30s",
		"/drain?kill_at=noon":                               "write for example 2026-01-02T15:04:05Z",
		"/drain?kill_afer=3s":                               `"kill_afer" is not known; write kill_after=30s`,
		"/drain?kill_after=":                                "give it once, with its value",
		"/drain?kill_after=3s&kill_after=5s":                "give it once, with its value",
		"/drain?kill_after=3s;kill_at=now":                  "cannot be read",
		"/drain?kill_after=3s&kill_at=2026-01-02T15:04:05Z": "give one of them",
	} {
		status, body = do("POST", path)
		assert.Equal(t, http.StatusBadRequest, status, path)
		var said struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(body), &said), body)
		assert.Contains(t, said.Error, says)
	}
	status, _ = do("POST", "/drain")
	assert.Equal(t, http.StatusAccepted, status)
	assert.Equal(t, protocol.StopFrom(protocol.FromNotice, protocol.Never), <-stops.Events(), "and nothing before it")
}

func TestProbesTakeNoOrders(t *testing.T) {
	stops := realworld.NewStops()
	defer stops.Close()
	for _, path := range []string{"/prestop", "/drain", "/quiet"} {
		rec := httptest.NewRecorder()
		realworld.Probes(resting{}, stops).ServeHTTP(rec, httptest.NewRequest("POST", path, nil))
		assert.Equal(t, http.StatusNotFound, rec.Code)
	}
}

// A worker whose loop does not turn is ill, unless it drains: its end is in sight then.
func TestALoopThatDoesNotTurnIsIll(t *testing.T) {
	stops := realworld.NewStops()
	defer stops.Close()
	patienceIsOver, cancel := context.WithCancel(t.Context())
	cancel()
	health := func(w realworld.Worker) (status int, body string) {
		rec := httptest.NewRecorder()
		realworld.Probes(w, stops).ServeHTTP(rec, httptest.NewRequestWithContext(patienceIsOver, "GET", "/healthz", nil))
		return rec.Code, rec.Body.String()
	}
	status, body := health(resting{})
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, body, "the worker's loop did not turn")
	status, body = health(draining{})
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, `{"alive":true}`, strings.TrimSpace(body))
}

// draining is a worker that will be killed in a minute.
type draining struct{ resting }

func (draining) SecondsLeft() (float64, bool) { return 60, true }

func TestWhoeverAsksForADrainMaySayWhenSIGKILLComes(t *testing.T) {
	stops := realworld.NewStops()
	defer stops.Close()
	e, err := realworld.Listen("127.0.0.1:0", resting{}, stops, realworld.EndpointOptions{})
	require.NoError(t, err)
	defer e.Close()
	for _, query := range []string{"kill_after=1h", "kill_at=" + url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339))} {
		before := worker.SystemClock().Now()
		_, err := realworld.Ask(t.Context(), e.Addr().String(), "/drain?"+query)
		require.NoError(t, err)
		at := (<-stops.Events()).At
		assert.InDelta(t, int64(protocol.Hour), int64(at.Sub(before)), float64(protocol.Minute), query)
	}
}
