package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/quiesce/quiesce/realworld/redis/local"
)

// redisServer is a redis-server of this program's own, without persistence.
type redisServer struct {
	*local.Server
	client rueidis.Client
}

func startRedis(ctx context.Context) (*redisServer, error) {
	s, err := local.Start(ctx, local.Options{})
	if err != nil {
		return nil, err
	}
	o, err := rueidis.ParseURL(s.URL())
	if err != nil {
		return nil, err
	}
	o.DisableCache = true
	client, err := rueidis.NewClient(o)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return &redisServer{s, client}, nil
}

func (s *redisServer) Close() error {
	s.client.Close()
	return s.Server.Close()
}

// empty takes everything out of it.
func (s *redisServer) empty(ctx context.Context) error {
	if err := s.client.Do(ctx, s.client.B().Flushall().Sync().Build()).Error(); err != nil {
		return fmt.Errorf("bench: FLUSHALL: %w", err)
	}
	return nil
}

// ping measures one PING.
func (s *redisServer) ping(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := s.client.Do(ctx, s.client.B().Ping().Build()).Error(); err != nil {
		return 0, fmt.Errorf("bench: PING: %w", err)
	}
	return time.Since(began), nil
}

// used is what the server has used and done.
func (s *redisServer) used(ctx context.Context) (usage, error) {
	seconds, err := s.info(ctx, "cpu", "used_cpu_user", "used_cpu_sys")
	if err != nil {
		return usage{}, err
	}
	calls, err := s.calls(ctx)
	return usage{time.Duration(seconds * float64(time.Second)), calls}, err
}

// memory is what the server has allocated for what it stores and for itself, in bytes.
func (s *redisServer) memory(ctx context.Context) (int64, error) {
	bytes, err := s.info(ctx, "memory", "used_memory")
	return int64(bytes), err
}

// calls is how many script calls the server has answered.
func (s *redisServer) calls(ctx context.Context) (float64, error) {
	text, err := s.client.Do(ctx, s.client.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		return 0, fmt.Errorf("bench: INFO: %w", err)
	}
	_, value, _ := strings.Cut(text, "\ncmdstat_evalsha:calls=")
	value, _, _ = strings.Cut(value, ",")
	n, _ := strconv.ParseFloat(value, 64) // there is no such line before the first call
	return n, nil
}

// info is the sum of some lines of INFO.
func (s *redisServer) info(ctx context.Context, section string, names ...string) (sum float64, err error) {
	text, err := s.client.Do(ctx, s.client.B().Info().Section(section).Build()).ToString()
	if err != nil {
		return 0, fmt.Errorf("bench: INFO: %w", err)
	}
	for _, name := range names {
		_, value, found := strings.Cut(text, "\n"+name+":")
		value, _, _ = strings.Cut(value, "\r")
		v, err := strconv.ParseFloat(value, 64)
		if !found || err != nil {
			return 0, fmt.Errorf("bench: INFO %s does not give %s", section, name)
		}
		sum += v
	}
	return sum, nil
}

func (s *redisServer) version(ctx context.Context) string {
	text, err := s.client.Do(ctx, s.client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return "?"
	}
	_, value, _ := strings.Cut(text, "redis_version:")
	value, _, _ = strings.Cut(value, "\r")
	return value
}
