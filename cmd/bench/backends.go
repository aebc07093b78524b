package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
)

// backends are what the systems need, as far as it is to be had.
type backends struct {
	redis    *redisServer
	postgres *postgres
	peers    string // the program's path
	dir      string
	skipped  []string
}

// startBackends starts what the systems need, and notes what is missing and how to install it.
func startBackends(ctx context.Context, systems []string) *backends {
	s := &backends{}
	skip := func(what string, err error) { s.skipped = append(s.skipped, fmt.Sprintf("%s: %v", what, err)) }
	wants := func(system string) bool { return slices.Contains(systems, system) }
	if wants("asynq") || wants("river") {
		var err error
		if s.dir, err = os.MkdirTemp("", "quiesce-bench"); err == nil {
			s.peers, err = buildPeers(ctx, s.dir)
		}
		if err != nil {
			skip("asynq and river are skipped", err)
		}
	}
	if wants("quiesce") || wants("asynq") {
		r, err := startRedis(ctx)
		if err != nil {
			skip("quiesce and asynq are skipped", err)
		}
		s.redis = r
	}
	if wants("river") && s.peers != "" {
		p, err := startPostgres(ctx)
		if err != nil {
			skip("river is skipped", err)
		}
		s.postgres = p
	}
	return s
}

// can reports whether a system can be measured.
func (s *backends) can(system string) bool {
	switch system {
	case "quiesce":
		return s.redis != nil
	case "asynq":
		return s.redis != nil && s.peers != ""
	default:
		return s.postgres != nil && s.peers != ""
	}
}

// machine says where figures are of.
func machine(ctx context.Context, server *redisServer) string {
	text := fmt.Sprintf("%d × %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if server != nil {
		text += ", Redis " + server.version(ctx)
	}
	return text
}

func (s *backends) Close() error {
	var errs []error
	if s.redis != nil {
		errs = append(errs, s.redis.Close())
	}
	if s.postgres != nil {
		errs = append(errs, s.postgres.Close())
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
