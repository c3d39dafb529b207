//go:build !linux

package main

// releaseProgramPages does nothing where the system has no such call.
func releaseProgramPages() error { return nil }
