// Package wire is a proxy on a Unix socket that does to what passes through it what networks
// do: for tests of clients.
package wire

import (
	"io"
	"net"
	"sync"
	"time"
)

// Proxy stands between clients and a server. It is safe for concurrent use.
type Proxy struct {
	socket   string
	listener net.Listener
	open     sync.WaitGroup

	mu      sync.Mutex
	target  string
	delay   time.Duration // of replies
	silent  chan struct{} // not nil: replies are held back until it is closed
	refuses bool          // new connections
	conns   map[net.Conn]bool
}

// Listen returns a proxy that listens on one socket and passes on to another.
func Listen(socket, target string) (*Proxy, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	p := &Proxy{socket: socket, listener: l, target: target, conns: map[net.Conn]bool{}}
	p.open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.open.Go(func() { p.serve(client) })
		}
	})
	return p, nil
}

// Socket is where clients find it.
func (p *Proxy) Socket() string { return p.socket }

// Close ends every connection and returns when nothing passes any more.
func (p *Proxy) Close() {
	p.listener.Close()
	p.Speak()
	p.Cut()
	p.open.Wait()
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target, refuses := p.target, p.refuses
	p.conns[client] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, client)
		p.mu.Unlock()
	}()
	if refuses {
		return
	}
	server, err := net.Dial("unix", target)
	if err != nil {
		return
	}
	defer server.Close()
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
		p.hold()
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// hold keeps a reply back as long as replies are delayed and held.
func (p *Proxy) hold() {
	p.mu.Lock()
	delay := p.delay
	p.mu.Unlock()
	time.Sleep(delay)
	p.mu.Lock()
	silent := p.silent
	p.mu.Unlock()
	if silent != nil {
		<-silent
	}
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Cut closes every connection.
func (p *Proxy) Cut() {
	p.set(func() {
		for c := range p.conns {
			c.Close()
		}
	})
}

// Refuse closes new connections at once from now on.
func (p *Proxy) Refuse() { p.set(func() { p.refuses = true }) }

// Slow delays replies from now on.
func (p *Proxy) Slow(d time.Duration) { p.set(func() { p.delay = d }) }

// Hush holds replies back until Speak.
func (p *Proxy) Hush() { p.set(func() { p.silent = make(chan struct{}) }) }

// Speak lets replies pass again.
func (p *Proxy) Speak() {
	p.set(func() {
		if p.silent != nil {
			close(p.silent)
			p.silent = nil
		}
	})
}

// Lead makes another server the target, and cuts the connections to the old one.
func (p *Proxy) Lead(target string) {
	p.set(func() { p.target = target })
	p.Cut()
}
