package manifest

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// policyConfiguration is the configuration of a plugin for admission policies.
type policyConfiguration struct {
	configfile.Kind
	StaticManifestsDir string `json:"staticManifestsDir,omitempty"`
}

// policyConfigVersion is the only version of policyConfiguration.
const policyConfigVersion = "apiserver.config.k8s.io/v1"

// Dir returns the directory in the configuration of a plugin for admission policies, whose kind is
// given; no data means no directory.
func Dir(data []byte, kind string) (string, error) {
	if len(data) == 0 {
		return "", nil
	}
	c, err := configfile.Decode[policyConfiguration](data, configfile.Kind{APIVersion: policyConfigVersion, Kind: kind})
	if err != nil {
		return "", err
	}
	return c.StaticManifestsDir, nil
}

// checkDir validates the directory in a configuration.
func checkDir(dir string, gates features.Gates) error {
	at := field.NewPath("staticManifestsDir")
	if !gates.Enabled(features.ManifestBasedAdmissionControlConfig) {
		return field.Forbidden(at, "staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled")
	}
	if !filepath.IsAbs(dir) {
		return field.Invalid(at, dir, "must be an absolute file path")
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return field.Invalid(at, dir, fmt.Sprintf("unable to read: %v", err))
	case !info.IsDir():
		return field.Invalid(at, dir, "must be a directory")
	}
	return nil
}
