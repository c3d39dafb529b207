// Package generated imports the Go types of projects that do not publish their definitions in their
// modules. The projects' own generator, pinned in go.mod, generates the definitions from them. It
// is a separate module because these types require other versions of the server's dependencies.
package generated

import (
	_ "github.com/fluxcd/image-automation-controller/api/v1"
	_ "github.com/fluxcd/image-reflector-controller/api/v1"
)
