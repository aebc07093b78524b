package realworld

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// Ask gives an order to the endpoint of another process and waits for the answer, which it
// returns: Ask(ctx, "unix:/run/render/0.sock", "/prestop"). With it the worker's own binary is
// the command of a preStop hook, in images that have no other.
func Ask(ctx context.Context, address, path string) (string, error) {
	base, client := "http://"+address, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		base = "http://worker"
		client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}
	}
	method := http.MethodPost
	if strings.HasPrefix(path, "/readyz") || strings.HasPrefix(path, "/healthz") {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, nil)
	if err != nil {
		return "", fmt.Errorf("realworld: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("realworld: ask the worker at %s: %w", address, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return "", fmt.Errorf("realworld: the answer of the worker at %s broke off: %w", address, err)
	}
	text := strings.TrimSpace(string(body))
	if resp.StatusCode >= 400 {
		return text, fmt.Errorf("realworld: the worker at %s answers %s to %s: %s", address, resp.Status, path, text)
	}
	return text, nil
}
