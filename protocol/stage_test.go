package protocol

// A stage brings a machine into a wanted state by real events only. Its clock starts at an
// odd instant so that deadlines of different origin do not coincide by accident.
type stage struct {
	cfg Config
	m   Machine
	fx  *Effects
	now Instant
}

// The kinds of a stage's jobs.
const (
	plainKind   Kind = iota
	limitedKind      // has a timeout of 20 s
	lengthyKind      // its undo may outlive its lease
)

func newStage(slots int, tweak func(*Config)) *stage {
	s := &stage{now: Instant(Second + 7)}
	s.cfg = Config{
		Kinds: []KindConfig{
			plainKind:   {MinVersion: 1, MaxVersion: 3, Gap: 1 * Second, Undo: 2 * Second},
			limitedKind: {MinVersion: 1, MaxVersion: 3, Gap: 1 * Second, Undo: 2 * Second, Timeout: 20 * Second},
			lengthyKind: {MinVersion: 1, MaxVersion: 3, Undo: Hour},
		},
		Grace: 30 * Second,
	}
	if tweak != nil {
		tweak(&s.cfg)
	}
	s.cfg = s.cfg.WithDefaults()
	s.fx = NewEffects(slots, s.cfg.Queues)
	s.m.Init(&s.cfg, NewMemory(&s.cfg, slots), 0)
	return s.do(Event{})
}

// do steps the events at the stage's instant. What the last one asked for is in fx.
func (s *stage) do(evs ...Event) *stage {
	for _, ev := range evs {
		s.fx.Reset()
		s.m.Step(s.now, ev, s.fx)
	}
	return s
}

// pass lets time pass, with a tick at every deadline on the way.
func (s *stage) pass(d Duration) *stage {
	end := s.now.Add(d)
	for s.m.Deadline() <= end {
		s.now = s.m.Deadline()
		s.do(Event{})
	}
	s.now = end
	return s
}

func (s *stage) serve() *stage { return s.do(RegisteredAs(1, OK)) }

// grant answers the request of queue 0 with one job, whose token is 10 times its key.
func (s *stage) grant(job JobKey, kind Kind) *stage {
	seq := s.m.requests[0].seq
	return s.do(GrantedJob(0, seq, job, Token(10*job), kind, 1, 0), ClaimClosed(0, seq, OK, 0))
}

// until walks to the instant of an armed deadline, without firing it, and reports whether it
// is still armed there.
func (s *stage) until(kind deadline, index int32) bool {
	want, ok := s.find(kind, index)
	for ok && s.m.Deadline() < want.at {
		s.now = s.m.Deadline()
		s.do(Event{})
		want, ok = s.find(kind, index)
	}
	if ok {
		s.now = want.at
	}
	return ok
}

func (s *stage) find(kind deadline, index int32) (found due, ok bool) {
	s.m.armed(func(d due) {
		if d.kind == kind && d.index == index && d.at != Never {
			found, ok = d, true
		}
	})
	return found, ok
}

func (s *stage) bytes() []byte { return s.m.AppendCanonical(nil, s.now, nil, 0) }

// impossibly runs act and reports whether it panicked as an impossible event does.
func impossibly(act func()) (panicked bool, message any) {
	defer func() {
		if r := recover(); r != nil {
			panicked, message = true, r
		}
	}()
	act()
	return false, nil
}
