package lab

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/quiesce/quiesce/model"
	"github.com/quiesce/quiesce/model/meter"
)

// Fingerprint identifies all that decides what the runs of a scenario under a policy come
// to, apart from the seed and the code: scenarios with equal fingerprints give equal rows.
// It is taken of the scenario as it is run, every default and every job of a trace included,
// not of the file: a comment changes nothing, and a file that was moved stays the same.
func Fingerprint(sc *model.Scenario, policy string) (string, error) {
	preset, sc, err := sc.Under(policy)
	if err != nil {
		return "", err
	}
	p := printer{h: sha256.New()}
	p.number(meter.FormatVersion)
	trace := sc.Trace
	plain := *sc
	plain.Trace, plain.Policies = nil, nil // the one is read below, the others are not run
	p.value(reflect.ValueOf(plain))
	p.value(reflect.ValueOf(preset))
	if trace != nil {
		if err := p.trace(trace); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(p.h.Sum(nil)[:12]), nil
}

// printer feeds values to a hash, each so that no two different ones look alike.
type printer struct{ h hash.Hash }

func (p *printer) number(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	p.h.Write(b[:])
}

func (p *printer) text(s string) {
	p.number(int64(len(s)))
	p.h.Write([]byte(s))
}

// value walks through everything a scenario is made of, unexported fields included: those of
// a distribution are what its draws follow from.
func (p *printer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			p.number(1)
		} else {
			p.number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.number(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.number(int64(v.Uint()))
	case reflect.Float32, reflect.Float64:
		p.number(int64(math.Float64bits(v.Float())))
	case reflect.String:
		p.text(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			p.value(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		p.number(int64(v.Len()))
		for i := range v.Len() {
			p.value(v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		p.number(int64(len(keys)))
		for _, k := range keys {
			p.value(k)
			p.value(v.MapIndex(k))
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			p.number(0)
			return
		}
		p.number(1)
		if v.Kind() == reflect.Interface {
			p.text(v.Elem().Type().String())
		}
		p.value(v.Elem())
	default:
		panic(fmt.Sprintf("lab: a scenario holds a %v, which has no fingerprint", v.Type()))
	}
}

func (p *printer) trace(t model.Trace) error {
	stream, err := t.Open()
	if err != nil {
		return fmt.Errorf("lab: open the job trace: %w", err)
	}
	defer stream.Close() // only read from: closing it cannot lose anything
	for {
		at, work, kind, ok, err := stream.Next()
		if err != nil {
			return fmt.Errorf("lab: read the job trace: %w", err)
		}
		if !ok {
			return nil
		}
		p.number(int64(at))
		p.number(int64(work))
		p.number(int64(kind))
	}
}
