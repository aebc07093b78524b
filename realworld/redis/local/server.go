package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quiesce/quiesce/internal/launch"
)

// Options of a server.
type Options struct {
	// Dir keeps its socket, its log and what it stores. Empty is a temporary one, which Close
	// removes; that of a process that was killed is removed by the next that makes one.
	Dir string
	// Port is one of the loopback's to listen on beside the socket; 0 is none.
	Port int
	// Config is a file of settings to begin with; a sentinel needs one, which it writes to.
	Config string
	// Args go to redis-server after those of this package, and override them: for example
	// "--appendonly", "yes", "--appendfsync", "always".
	Args []string
}

// Server is a redis-server that this process has started. It is safe for concurrent use.
type Server struct {
	dir, socket string
	port        int
	args        []string
	made        []string // directories that Close removes
	release     []func() // their locks

	mu  sync.Mutex
	run *run // nil when it does not run
}

// run is one life of the server.
type run struct {
	cmd   *exec.Cmd
	ended <-chan struct{} // closed once it has been waited for
}

// longestSocket is how long a path of a socket may be on every platform; macOS has the least.
const longestSocket = 100

// Missing is the error of Start where no redis-server is installed. It counts as
// exec.ErrNotFound.
type Missing struct{ err error }

func (m *Missing) Error() string {
	return "local: redis-server is not installed: " + installHint(runtime.GOOS)
}

// Unwrap returns what exec.LookPath said.
func (m *Missing) Unwrap() error { return m.err }

func installHint(goos string) string {
	switch goos {
	case "darwin":
		return "brew install redis"
	case "windows":
		return "run it in WSL (apt-get install redis-server), or name a server that runs elsewhere"
	default:
		return "apt-get install redis-server, dnf install redis, or apk add redis"
	}
}

// Start starts a server and returns once it answers.
func Start(ctx context.Context, options Options) (*Server, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, &Missing{err}
	}
	s := &Server{dir: options.Dir, port: options.Port}
	if s.dir == "" {
		dir, err := s.makeDir()
		if err != nil {
			return nil, err
		}
		s.dir = dir
	}
	dir, err := filepath.Abs(s.dir) // redis-server changes its directory
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	s.dir, s.socket = dir, filepath.Join(dir, "redis.sock")
	if len(s.socket) > longestSocket {
		short, err := s.makeDir()
		if err != nil {
			return nil, err
		}
		s.socket = filepath.Join(short, "redis.sock")
	}
	if options.Config != "" {
		s.args = append(s.args, options.Config)
	}
	s.args = append(s.args,
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--unixsocket", s.socket, "--unixsocketperm", "700",
		"--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no")
	s.args = append(s.args, options.Args...)
	if err := s.Restart(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) makeDir() (string, error) {
	sweep()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", fmt.Errorf("local: %w", err)
	}
	s.made, s.release = append(s.made, dir), append(s.release, own(dir))
	return dir, nil
}

// URL is where clients find the server: its socket.
func (s *Server) URL() string { return "unix://" + s.socket }

// Addr is its address on the loopback, when it was given a port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Socket is the path of its socket.
func (s *Server) Socket() string { return s.socket }

// Dir is where it keeps its log, redis.log, and what it stores.
func (s *Server) Dir() string { return s.dir }

// Restart ends a server that still runs as Stop does, and starts it again with what it has
// stored. It returns once the server answers.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.start()
	if err != nil {
		return err
	}
	s.run = r
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := ping(ctx, s.socket)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-r.ended:
			s.run = nil
			return fmt.Errorf("local: redis-server ended at its start (%s): %s", r.cmd.ProcessState, s.lastWords())
		case <-ctx.Done():
			s.run = nil
			_ = r.cmd.Process.Kill()
			<-r.ended
			return fmt.Errorf("local: redis-server does not answer (%w): %s", errors.Join(ctx.Err(), err), s.lastWords())
		}
	}
}

func (s *Server) start() (*run, error) {
	log, err := os.OpenFile(filepath.Join(s.dir, "redis.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	defer log.Close()
	cmd := exec.Command("redis-server", s.args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes()
	ended, err := launch.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	return &run{cmd: cmd, ended: ended}, nil
}

// ping returns nil once the server answers, and is not loading its data any more.
func ping(ctx context.Context, socket string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.HasPrefix(line, "-LOADING") || strings.HasPrefix(line, "-MASTERDOWN") {
		return errors.New(strings.TrimSpace(line))
	}
	return nil // PONG, or that a password is wanted
}

// lastWords are the last lines of the server's log.
func (s *Server) lastWords() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "redis.log"))
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-5):], []byte("; ")))
}

// Kill ends the server as a crash does. It may have ended before.
func (s *Server) Kill() { s.end(func(p *os.Process) error { return p.Kill() }) }

// Stop ends the server as its administrator does: it stores what it was told to store. A
// server that has not ended when ctx is done is killed. It may have ended before.
func (s *Server) Stop(ctx context.Context) error {
	return s.endWithin(ctx, func(p *os.Process) error {
		if err := p.Signal(syscall.SIGTERM); err != nil {
			return p.Kill() // there is no SIGTERM on Windows
		}
		return nil
	})
}

func (s *Server) end(how func(*os.Process) error) {
	_ = s.endWithin(context.Background(), how) // only ctx makes it fail
}

func (s *Server) endWithin(ctx context.Context, how func(*os.Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.run
	if r == nil {
		return nil
	}
	s.run = nil
	_ = how(r.cmd.Process) // it fails for what has ended
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		_ = r.cmd.Process.Kill()
		<-r.ended
		return fmt.Errorf("local: redis-server did not stop and was killed: %w", ctx.Err())
	}
}

// Close kills the server and removes what Start made for it.
func (s *Server) Close() error {
	s.Kill()
	for _, release := range s.release {
		release() // Windows removes nothing that is open; elsewhere two may remove it at once
	}
	var errs []error
	for _, dir := range s.made {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}
