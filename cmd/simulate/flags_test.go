package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is printed is pasted into chats, and kept by --out.
func TestPasswordsAreNotRepeated(t *testing.T) {
	assert.Equal(t, "redis://me:xxxxx@queue:6379/1", withoutPassword("redis://me:secret@queue:6379/1"))
	assert.Equal(t, "redis://localhost:6379", withoutPassword("redis://localhost:6379"))
	assert.NotContains(t, withoutPassword("redis://me:secret@queue:port%zz"), "secret")
}
