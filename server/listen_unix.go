//go:build unix

package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// The errors of opening a port to which an advice is added.
const (
	errNoSuchAddress = unix.EADDRNOTAVAIL
	errAddressInUse  = unix.EADDRINUSE
	errPortForbidden = unix.EACCES
)

// sharing sets the socket options by which the secure port is shared. It returns nil if there are none.
func sharing(o *Options) control {
	var options []int
	if o.Serving.ShareAddress {
		options = append(options, unix.SO_REUSEADDR)
	}
	if o.Serving.SharePort {
		options = append(options, unix.SO_REUSEPORT)
	}
	if len(options) == 0 {
		return nil
	}
	return func(_, _ string, conn syscall.RawConn) error {
		var errs []error
		err := conn.Control(func(fd uintptr) {
			for _, option := range options {
				errs = append(errs, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, 1))
			}
		})
		return errors.Join(append(errs, err)...)
	}
}
