//go:build !linux

package faults

import (
	"errors"
	"time"
)

type slowSyncs struct{}

func newSlowSyncs() (*slowSyncs, error) { return nil, errors.ErrUnsupported }

func (*slowSyncs) set(time.Duration) {}
