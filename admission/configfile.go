package admission

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// configuration is the file of --admission-control-config-file: an
// AdmissionConfiguration of apiserver.config.k8s.io.
type configuration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Plugins    []struct {
		Name string `json:"name"`
		// Path is a file with the configuration, which may stand here itself
		// instead.
		Path          string          `json:"path,omitempty"`
		Configuration json.RawMessage `json:"configuration,omitempty"`
	} `json:"plugins,omitempty"`
}

// ReadConfigFile reads what plugins are configured by, by their names. Paths in
// it are relative to its own. No file is no configuration.
func ReadConfigFile(path string) (map[string][]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("unable to read admission control configuration from %q [%w]", path, err)
	}
	var c configuration
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.Kind != "AdmissionConfiguration" || c.APIVersion != "apiserver.config.k8s.io/v1" && c.APIVersion != "apiserver.k8s.io/v1alpha1" {
		return nil, fmt.Errorf("%s: is of kind %q of %q, and not an AdmissionConfiguration of \"apiserver.config.k8s.io/v1\"", path, c.Kind, c.APIVersion)
	}
	files := map[string][]byte{}
	for _, p := range c.Plugins {
		switch {
		case len(p.Configuration) > 0:
			files[p.Name] = p.Configuration
		case p.Path != "":
			if !filepath.IsAbs(p.Path) {
				p.Path = filepath.Join(filepath.Dir(path), p.Path)
			}
			if files[p.Name], err = os.ReadFile(p.Path); err != nil {
				return nil, fmt.Errorf("plugin %s: %w", p.Name, err)
			}
		}
	}
	return files, nil
}
