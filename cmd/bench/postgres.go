package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quiesce/quiesce/internal/launch"
)

// postgres is a Postgres of this program's own. It loses what it stores when the machine
// fails, as the Redis beside it does.
type postgres struct {
	bin, dir  string
	as        *syscall.SysProcAttr // whom its programs run as
	cmd       *exec.Cmd
	ended     <-chan struct{}
	databases atomic.Int32
}

// installPostgres is how to get what startPostgres needs.
const installPostgres = "bench: initdb, postgres or psql is not installed: apt-get install postgresql, dnf install postgresql-server, or brew install postgresql"

// startPostgres starts one in a temporary directory and returns once it answers.
func startPostgres(ctx context.Context) (_ *postgres, err error) {
	bin, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "quiesce-postgres")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	p := &postgres{bin: bin, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.as, err = notAsRoot(dir); err != nil {
		return nil, err
	}
	if _, err := p.run(ctx, "initdb", "-D", p.data(), "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, err
	}
	p.cmd = p.command(context.WithoutCancel(ctx), "postgres", "-D", p.data(), "-k", dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
		"-c", "max_connections=1000", "-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB")
	if p.ended, err = launch.Start(p.cmd); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	for {
		_, err := p.psql(ctx, "postgres", "SELECT 1")
		if err == nil {
			return p, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("bench: Postgres does not answer: %w", errors.Join(ctx.Err(), err))
		case <-p.ended:
			return nil, fmt.Errorf("bench: postgres ended at its start: %s", p.cmd.ProcessState)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// postgresPrograms finds the directory with all of them: distributions put only some on the
// path.
func postgresPrograms() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // a pattern that is right
	slices.Reverse(dirs)                                  // the newest first
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append([]string{filepath.Dir(path)}, dirs...)
	}
	for _, dir := range dirs {
		complete := true
		for _, program := range []string{"initdb", "postgres", "psql"} {
			_, err := exec.LookPath(filepath.Join(dir, program))
			complete = complete && err == nil
		}
		if complete {
			return dir, nil
		}
	}
	return "", errors.New(installPostgres)
}

// postgresUsers may own a database where root may not.
var postgresUsers = []string{"postgres", "nobody"}

// ownerOf finds somebody else than root.
func ownerOf() (uid, gid int, err error) {
	for _, name := range postgresUsers {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil {
			return uid, gid, nil
		}
	}
	return 0, 0, fmt.Errorf("bench: Postgres does not run as root, and there is no user %s; run this as another user", strings.Join(postgresUsers, " or "))
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *postgres) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, p.as
	return cmd
}

func (p *postgres) run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := p.command(ctx, program, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("bench: %s: %w: %s", program, err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

func (p *postgres) psql(ctx context.Context, database, statement string) (string, error) {
	return p.run(ctx, "psql", "-X", "-q", "-A", "-t", "-h", p.dir, "-U", "bench", "-d", database, "-c", statement)
}

// fresh makes a new database and returns its URL.
func (p *postgres) fresh(ctx context.Context) (string, error) {

	name := "bench" + strconv.Itoa(int(p.databases.Add(1)))
	if _, err := p.psql(ctx, "postgres", "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	return fmt.Sprintf("postgres://bench@/%s?host=%s", name, p.dir), nil
}

// cpu is the processor time that all its processes have used. It is 0 where /proc does not
// tell.
func (p *postgres) cpu() time.Duration {
	pid := p.cmd.Process.Pid
	sum := statOf(pid).all()
	others, _ := filepath.Glob("/proc/[0-9]*") // a pattern that is right
	for _, path := range others {
		child, _ := strconv.Atoi(filepath.Base(path))
		if s := statOf(child); s.parent == pid {
			sum += s.own
		}
	}
	return sum
}

// Close ends it and removes its directory.
func (p *postgres) Close() error {
	if p.ended != nil {
		// SIGQUIT is its immediate shutdown, which takes its children along.
		if p.cmd.Process.Signal(syscall.SIGQUIT) != nil {
			_ = p.cmd.Process.Kill()
		}
		<-p.ended
	}
	return os.RemoveAll(p.dir)
}
