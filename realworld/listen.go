package realworld

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// listen opens an address, which must be one that only this host can reach unless remote.
func listen(address string, remote bool) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(path)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("realworld: %q is not an address; write for example unix:/run/render/0.sock or 127.0.0.1:8081", address)
	}
	if ip := net.ParseIP(host); !remote && host != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf("realworld: whoever reaches %s could drain this worker; listen on a Unix socket (unix:/run/render/0.sock) or on 127.0.0.1, serve only Probes there, or set EndpointOptions.AllowRemote", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("realworld: %w", err)
	}
	return l, nil
}

// listenUnix opens a Unix socket for this user alone and replaces one that nobody listens on.
// A lock beside it keeps two processes from replacing each other's.
func listenUnix(path string) (net.Listener, error) {
	if path == "" {
		return nil, errors.New("realworld: unix: lacks the path of the socket; write for example unix:/run/render/0.sock")
	}
	if strings.HasPrefix(path, "@") { // abstract: it has no file, and is gone with its process
		l, err := net.Listen("unix", path)
		if err != nil {
			return nil, fmt.Errorf("realworld: %w", err)
		}
		return l, nil
	}
	unlock, err := lockFile(context.Background(), path+".lock")
	if err != nil {
		return nil, fmt.Errorf("realworld: listen on %s: %w", path, err)
	}
	defer unlock()
	l, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(path) {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("realworld: the socket of a dead process stays: %w", err)
		}
		l, err = net.Listen("unix", path)
	}
	if errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("realworld: %s has %d bytes, more than systems take for the path of a socket (some 100); give a shorter one", path, len(path))
	}
	if err != nil {
		return nil, fmt.Errorf("realworld: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("realworld: keep %s to this user: %w", path, err)
	}
	return l, nil
}

// abandoned reports whether path is a socket on which nobody listens.
func abandoned(path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
