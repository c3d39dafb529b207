//go:build !linux || !amd64

package faults

import (
	"errors"
	"time"
)

func newClock() (func(time.Duration), error) { return nil, errors.ErrUnsupported }
