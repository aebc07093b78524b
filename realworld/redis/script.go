package redis

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

//go:embed lua/*.lua
var sources embed.FS

// Schema is the number of the layout of keys and of the contract of the scripts that this
// build knows. A build of schema N works on what N-1 has stored, as a build of N-1 would, until
// Broker.Upgrade; and refuses to start on what is older or newer.
const Schema = 1

// serverClock is how a script reads Redis's own clock, in microseconds: one line, which
// tests replace to move time.
const serverClock = "local time = redis.call('TIME'); local now = time[1] * 1000000 + time[2]"

// script is one atomic operation. Its text begins with #!lua, so that a cluster refuses keys
// of another hash slot instead of serving them wrong.
type script struct {
	name, text, sha string
}

// newScript puts a script together. In it SCHEMA is that of what is stored: scripts write what
// builds of that schema can read.
func newScript(clock string, schema int, name, flags string, parts ...string) script {
	var b strings.Builder
	b.WriteString("#!lua")
	if flags != "" {
		b.WriteString(" flags=" + flags)
	}
	b.WriteString("\n-- quiesce " + name + "\nlocal SCHEMA = " + strconv.Itoa(schema) + "\n" + clock + "\n")
	for _, part := range append(parts, name) {
		text, err := sources.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic(err) // the list below names a file that is not there
		}
		b.Write(text)
	}
	sum := sha1.Sum([]byte(b.String())) //nolint:gosec // Redis names scripts so
	return script{name, b.String(), hex.EncodeToString(sum[:])}
}

// scripts is everything that is ever executed.
type scripts struct {
	open, register, upgrade                                  script
	introduce, going, turn, withdraw, renew, abandon, expire script
	add, enqueue, cancel, look                               script
	list, requeue, stats, mend, older                        script
}

// newScripts makes the scripts for what is stored. Most may run on a Redis that is out of
// memory: they settle, renew, hand back and look. Only what adds jobs is refused then.
func newScripts(clock string, schema int) *scripts {
	full := func(name string, parts ...string) script {
		return newScript(clock, schema, name, "allow-oom", parts...)
	}
	return &scripts{
		open: full("open"), register: full("register"), upgrade: full("upgrade"),
		introduce: full("introduce", "base", "waiters"), going: full("going", "base", "waiters"), abandon: full("abandon", "base", "waiters", "jobs"),
		turn: full("turn", "base", "usual", "waiters", "jobs", "claims"), withdraw: full("withdraw", "base", "waiters", "jobs"),
		renew: full("renew", "base", "waiters", "jobs"), expire: full("sweep", "base", "waiters", "jobs"),
		add: newScript(clock, schema, "add", "", "base", "numbers", "waiters"), enqueue: newScript(clock, schema, "enqueue", "", "base", "numbers", "waiters", "jobs"), cancel: full("cancel", "base", "waiters", "jobs"),
		look: full("look", "base", "waiters", "jobs", "rows"), list: full("list", "base", "waiters", "jobs", "rows", "revive"),
		requeue: full("requeue", "base", "waiters", "jobs", "revive"), stats: full("stats", "base", "waiters", "jobs"),
		mend: full("mend", "base", "waiters", "jobs"), older: full("older", "base", "waiters", "jobs"),
	}
}

// run executes a script once. A server that does not know it (restarted, flushed, failed
// over) has done nothing, and is sent the text.
func (b *Broker) run(ctx context.Context, s *script, keys, args []string) rueidis.RedisResult {
	n := strconv.Itoa(len(keys))
	r := b.client.Do(ctx, b.client.B().Evalsha().Sha1(s.sha).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
	if err, ok := rueidis.IsRedisErr(r.Error()); ok && err.IsNoScript() {
		return b.client.Do(ctx, b.client.B().Arbitrary("EVAL", s.text, n).Keys(keys...).Args(args...).Build())
	}
	return r
}
