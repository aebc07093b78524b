package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// processStat is what /proc says of a process.
type processStat struct {
	parent        int
	own, children time.Duration // processor time; that of children once they have been waited for
}

func (s processStat) all() time.Duration { return s.own + s.children }

// jiffy is the unit of /proc/*/stat, on every architecture that Go runs on.
const jiffy = 10 * time.Millisecond

func statOf(pid int) (s processStat) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before may have spaces
	f := strings.Fields(rest)
	if len(f) < 15 {
		return s
	}
	number := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
	s.parent = number(1)
	s.own = time.Duration(number(11)+number(12)) * jiffy
	s.children = time.Duration(number(13)+number(14)) * jiffy
	return s
}
