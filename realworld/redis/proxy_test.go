package redis

import (
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy stands between a broker and its server and does what networks do.
type proxy struct {
	socket string

	mu     sync.Mutex
	target string
	delay  time.Duration // of replies
	silent chan struct{} // not nil: replies are held back until it is closed
	conns  map[net.Conn]bool
}

func newProxy(t *testing.T, target string) *proxy {
	p := &proxy{socket: filepath.Join(t.TempDir(), "p"), target: target, conns: map[net.Conn]bool{}}
	l, err := net.Listen("unix", p.socket)
	require.NoError(t, err)
	var open sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		p.speak()
		p.cut()
		open.Wait()
	})
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { p.serve(conn) })
		}
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	defer client.Close()
	server, err := net.Dial("unix", target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns[client] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, client)
		p.mu.Unlock()
	}()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		delay, silent := p.delay, p.silent
		p.mu.Unlock()
		time.Sleep(delay)
		if silent != nil {
			<-silent
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// slow delays replies from now on.
func (p *proxy) slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// hush holds replies back until speak.
func (p *proxy) hush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = make(chan struct{})
}

func (p *proxy) speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent != nil {
		close(p.silent)
		p.silent = nil
	}
}

// lead makes another server the target, of new connections.
func (p *proxy) lead(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.cut()
}
