//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// notAsRoot says whom a program that refuses to be root runs as, and gives dir to them.
func notAsRoot(dir string) (*syscall.SysProcAttr, error) {
	attr := withParent(syscall.SIGQUIT) // the immediate shutdown of a database
	if os.Getuid() != 0 {
		return attr, nil
	}
	uid, gid, err := ownerOf()
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}
