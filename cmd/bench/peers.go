package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// buildPeers builds the program that runs foreign queues, whose source is in this
// repository, into dir.
func buildPeers(ctx context.Context, dir string) (string, error) {
	source, err := peersSource()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "peers.exe") // the ending is needed on Windows, and harmless elsewhere
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build in %s: %w: %s", source, err, lastLine(string(out)))
	}
	return binary, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// peersSource finds the program's module above the working directory.
func peersSource() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		source := filepath.Join(dir, "cmd", "bench", "peers")
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("their source cmd/bench/peers is not here; run this inside a clone of the repository")
		}
		dir = up
	}
}

// peer is a foreign queue on a server.
type peer struct{ binary, system, server string }

// command is one of the program's.
func (p peer) command(ctx context.Context, what string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, p.binary, append([]string{what, "--system", p.system, "--server", p.server}, args...)...)
}

// ask runs a command and reads the object that it prints into answer, unless that is nil.
func (p peer) ask(ctx context.Context, answer any, what string, args ...string) error {
	cmd := p.command(ctx, what, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("bench: %s: %s: %w: %s", p.system, what, err, lastLine(errs.String()))
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		return fmt.Errorf("bench: %s: %s: %w", p.system, what, err)
	}
	return nil
}
