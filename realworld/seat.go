package realworld

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/quiesce/quiesce/realworld/internal/kin"
)

// Seat is a configured identity that this process holds alone on this host. A lock of the
// kernel says so: it ends with the process and with the children that package proc started
// for it, and not before.
//
// Under its directory each life has a folder of its own:
//
//	DIR/SEAT/lock
//	DIR/SEAT/LIFE/life.json   process id and kernel; its age is that of the last heartbeat
//	DIR/SEAT/LIFE/tmp/        temporary files
//	DIR/SEAT/LIFE/made/       a link to each file that was made elsewhere
//
// A life that ends in order removes its folder. What is left belongs to the dead.
type Seat struct {
	name    string
	dir     string // DIR/SEAT
	life    string // DIR/SEAT/LIFE
	lock    *os.File
	disown  func()
	alone   bool // no earlier life can be running
	done    chan struct{}
	beating sync.WaitGroup
	once    sync.Once
}

// A life under another kernel, which shares the folder but no lock, is left alone until it has
// been silent for so long. It matters only on volumes that move between hosts.
const (
	seatHeartbeat = 10 * time.Second
	seatSilence   = 10 * time.Minute
)

// ErrSeatTaken reports that a living process holds the seat.
var ErrSeatTaken = errors.New("realworld: the seat is taken")

// lifeFile is what life.json holds.
type lifeFile struct {
	PID  int    `json:"pid"`
	Boot string `json:"boot"` // names the running kernel
}

// TakeSeat takes a seat and removes what its dead holders left: temporary files, and whatever
// they tracked. It waits until ctx is done for a holder that is still going, and returns
// ErrSeatTaken then. dir is kept between lives, on a disk of this host: /var/lib, or a volume;
// what is in it is for this user alone. Windows has no such lock that children could hold.
func TakeSeat(ctx context.Context, dir, name string) (*Seat, error) {
	s := &Seat{name: name, dir: filepath.Join(dir, url.PathEscape(name)), done: make(chan struct{})}
	if name == "" || name == "." || name == ".." {
		return nil, fmt.Errorf("realworld: %q cannot name a seat; write for example render/0", name)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("realworld: take seat %s: %w", name, err)
	}
	lock, err := openLocked(ctx, filepath.Join(s.dir, "lock"))
	if errors.Is(err, errLocked) {
		return nil, s.taken()
	}
	if err != nil {
		return nil, fmt.Errorf("realworld: take seat %s: %w", name, err)
	}
	s.lock = lock
	if err := s.moveIn(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("realworld: take seat %s: %w", name, err)
	}
	s.disown = kin.Add(lock)
	s.beating.Go(s.beat)
	return s, nil
}

// taken names the process that holds the seat, if it can be found.
func (s *Seat) taken() error {
	for _, life := range s.lives() {
		if l, err := readLife(life); err == nil && l.Boot == bootID() {
			return fmt.Errorf("%w: process %d or a child of it holds %s in %s", ErrSeatTaken, l.PID, s.name, s.dir)
		}
	}
	return fmt.Errorf("%w: %s in %s", ErrSeatTaken, s.name, s.dir)
}

// moveIn makes this life's folder and clears up after the dead.
func (s *Seat) moveIn() error {
	earlier := s.lives()
	s.life = filepath.Join(s.dir, uuid.NewString())
	for _, sub := range []string{"tmp", "made"} {
		if err := os.MkdirAll(filepath.Join(s.life, sub), 0o700); err != nil {
			return err
		}
	}
	if err := s.show(); err != nil {
		return err
	}
	s.alone = true
	for _, life := range earlier {
		dead := s.dead(life)
		s.alone = s.alone && dead
		if !dead && !s.silent(life) {
			continue
		}
		if err := clearUp(life); err != nil {
			return err
		}
	}
	return nil
}

// lives are the folders of all lives that did not end in order.
func (s *Seat) lives() []string {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*", "made")) // the pattern is well formed
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

// dead reports that a life has ended for certain: this kernel would have refused the lock
// otherwise. Of a life under another kernel nothing is known, unless it never got anywhere.
func (s *Seat) dead(life string) bool {
	l, err := readLife(life)
	return errors.Is(err, os.ErrNotExist) || err == nil && l.Boot != "" && l.Boot == bootID()
}

// silent reports that a life has not shown itself for long, by the clock of whoever keeps the
// files: this life has just written one.
func (s *Seat) silent(life string) bool {
	now, err := os.Stat(filepath.Join(s.life, "life.json"))
	if err != nil {
		return false
	}
	last, err := os.Stat(filepath.Join(life, "life.json"))
	return err == nil && now.ModTime().Sub(last.ModTime()) > seatSilence
}

func readLife(life string) (lifeFile, error) {
	var l lifeFile
	b, err := os.ReadFile(filepath.Join(life, "life.json"))
	if err != nil {
		return l, err
	}
	return l, json.Unmarshal(b, &l)
}

// clearUp removes what a life left, links last, so that a start that is interrupted here is
// finished by the next.
func clearUp(life string) error {
	links, err := os.ReadDir(filepath.Join(life, "made"))
	if err != nil {
		return err
	}
	for _, link := range links {
		path, err := os.Readlink(filepath.Join(life, "made", link.Name()))
		if err != nil {
			return err
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return os.RemoveAll(life)
}

// Dir is where temporary files of this life belong; the next start removes them if this one
// cannot. It ends with the seat.
func (s *Seat) Dir() string { return filepath.Join(s.life, "tmp") }

// UseForTemp makes Dir the directory for temporary files of this process and its children:
// it sets TMPDIR, and with it where worker.Scope.TempDir makes its directories. It is called
// before anything runs beside main.
func (s *Seat) UseForTemp() error { return os.Setenv("TMPDIR", s.Dir()) }

// Track remembers a file or directory that is about to be made elsewhere than in Dir, so that
// the next start removes it should this process be killed. untrack forgets it: after it was
// removed, or has become what it was made for.
func (s *Seat) Track(path string) (untrack func() error, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("realworld: track %s: %w", path, err)
	}
	sum := sha256.Sum256([]byte(path))
	link := filepath.Join(s.life, "made", hex.EncodeToString(sum[:16]))
	if err := os.Symlink(path, link); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("realworld: track %s: %w", path, err)
	}
	return func() error { return os.Remove(link) }, nil
}

// Alone reports that no earlier life of the seat can be running, nor a child of one: the
// kernel has said so. It is false when one ran under another kernel, on a shared volume, and
// did not end in order. It is what worker.Options.Alone asks.
func (s *Seat) Alone() bool { return s.alone }

// show writes life.json, which is at once the heartbeat.
func (s *Seat) show() error {
	b, err := json.Marshal(lifeFile{PID: os.Getpid(), Boot: bootID()})
	if err != nil {
		return err
	}
	// It is replaced, not written over: whoever reads it sees all of it.
	next := filepath.Join(s.life, "next.json")
	if err := os.WriteFile(next, b, 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(s.life, "life.json"))
}

func (s *Seat) beat() {
	t := time.NewTicker(seatHeartbeat)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			_ = s.show() // a heart that cannot be seen to beat counts as still, which is right
		case <-s.done:
			return
		}
	}
}

// Close ends this life in order: its folder goes, and the seat is free once no child of
// package proc runs any more.
func (s *Seat) Close() error {
	var err error
	s.once.Do(func() {
		close(s.done)
		s.beating.Wait()
		s.disown()
		err = errors.Join(os.RemoveAll(s.life), s.lock.Close())
	})
	return err
}
