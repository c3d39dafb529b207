// Package generated has the Go types of projects whose definitions are to be had in
// no other form: their own generator, which go.mod pins, makes those of them. It is
// a module of its own because those types bring versions of what the server needs
// too.
package generated

import (
	_ "github.com/fluxcd/image-automation-controller/api/v1"
	_ "github.com/fluxcd/image-reflector-controller/api/v1"
)
