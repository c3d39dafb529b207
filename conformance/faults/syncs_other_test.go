//go:build !linux

package faults

import (
	"errors"
	"time"
)

func newSlowSyncs() (func(time.Duration), error) { return nil, errors.ErrUnsupported }
