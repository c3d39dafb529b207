package admission

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// fileConfiguration is the AdmissionConfiguration in the file of --admission-control-config-file.
type fileConfiguration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Plugins    []struct {
		Name string `json:"name"`
		// Path is the file with the plugin's configuration if Configuration is empty.
		Path          string          `json:"path,omitempty"`
		Configuration json.RawMessage `json:"configuration,omitempty"`
	} `json:"plugins,omitempty"`
}

// ReadConfigFile returns the configurations of plugins by plugin name. Paths in the file are
// relative to the file. An empty path returns none.
func ReadConfigFile(path string) (map[string][]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("unable to read admission control configuration from %q [%w]", path, err)
	}
	var c fileConfiguration
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.Kind != "AdmissionConfiguration" || c.APIVersion != "apiserver.config.k8s.io/v1" && c.APIVersion != "apiserver.k8s.io/v1alpha1" {
		return nil, fmt.Errorf("%s: kind is %q of %q, expected AdmissionConfiguration of \"apiserver.config.k8s.io/v1\"", path, c.Kind, c.APIVersion)
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
