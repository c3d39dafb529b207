package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// The errors of opening a port to which an advice is added.
const (
	errNoSuchAddress = windows.WSAEADDRNOTAVAIL
	errAddressInUse  = windows.WSAEADDRINUSE
	errPortForbidden = windows.WSAEACCES
)

// sharing returns what fails if the secure port is to be shared: with the option of Windows one process takes the
// connections of the other. It returns nil otherwise.
func sharing(o *Options) control {
	if !o.Serving.ShareAddress && !o.Serving.SharePort {
		return nil
	}
	return func(string, string, syscall.RawConn) error {
		return errors.New("--permit-address-sharing and --permit-port-sharing are not possible on Windows")
	}
}
