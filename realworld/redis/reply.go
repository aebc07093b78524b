package redis

import (
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

func isNil(err error) bool { return err != nil && rueidis.IsRedisNil(err) }

// fields reads the parts of an answer one after the other, and remembers what went wrong.
type fields struct {
	parts []rueidis.RedisMessage
	err   error
}

func (f *fields) next() *rueidis.RedisMessage {
	if len(f.parts) == 0 {
		if f.err == nil {
			f.err = fmt.Errorf("an answer that is too short")
		}
		return nil
	}
	m := &f.parts[0]
	f.parts = f.parts[1:]
	return m
}

func (f *fields) text() string {
	m := f.next()
	if m == nil {
		return ""
	}
	s, err := m.ToString()
	f.keep(err)
	return s
}

func (f *fields) int() int {
	m := f.next()
	if m == nil {
		return 0
	}
	n, err := m.AsInt64()
	f.keep(err)
	return int(n)
}

// time reads microseconds since 1970.
func (f *fields) time() time.Time {
	m := f.next()
	if m == nil {
		return time.Time{}
	}
	n, err := m.AsInt64()
	f.keep(err)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n)
}

func (f *fields) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (info *Info) read(b *Broker, parts []rueidis.RedisMessage) error {
	f := &fields{parts: parts}
	info.State = State(f.text())
	if len(f.parts) == 0 {
		return f.err
	}
	record := f.text()
	info.Deliveries, info.Failures, info.Poison, info.Fruitless = f.int(), f.int(), f.int(), f.int()
	info.At, info.Cancel = f.time(), f.int() == 1
	info.Class, info.Message, info.Build, info.Added = f.text(), f.text(), f.text(), f.time()
	if f.err != nil {
		return f.err
	}
	var err error
	info.Kind, info.Version, info.Payload, err = b.readRecord([]byte(record))
	return err
}
