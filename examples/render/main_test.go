//go:build unix

package main

import (
	"os"
	"testing"
)

// roleVar says that this binary was started by a test, and is the command render.
const roleVar = "RENDER_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Setenv(roleVar, "render") // for children
	os.Exit(m.Run())
}
