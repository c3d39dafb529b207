package admission

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/miniapiserver/miniapiserver/internal/configfile"
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

var fileKinds = []configfile.Kind{{APIVersion: "apiserver.config.k8s.io/v1", Kind: "AdmissionConfiguration"},
	{APIVersion: "apiserver.k8s.io/v1alpha1", Kind: "AdmissionConfiguration"}}

// ReadConfigFile returns the configurations of plugins by plugin name, and the files of those that have one of
// their own. Paths in the file are relative to the file. An empty path returns none.
func ReadConfigFile(path string) (configurations map[string][]byte, files map[string]string, err error) {
	if path == "" {
		return nil, nil, nil
	}
	data, err := configfile.Read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("unable to read admission control configuration from %q [%w]", path, err)
	}
	c, err := configfile.Decode[fileConfiguration](data, fileKinds...)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, configfile.Expect(err, func(is configfile.Kind) error {
			return fmt.Errorf("kind is %q of %q, expected %s of %q", is.Kind, is.APIVersion, fileKinds[0].Kind, fileKinds[0].APIVersion)
		}))
	}
	configurations, files = map[string][]byte{}, map[string]string{}
	for _, p := range c.Plugins {
		switch {
		case len(p.Configuration) > 0:
			configurations[p.Name] = p.Configuration
		case p.Path != "":
			if !filepath.IsAbs(p.Path) {
				p.Path = filepath.Join(filepath.Dir(path), p.Path)
			}
			files[p.Name] = p.Path
			if configurations[p.Name], err = configfile.Read(p.Path); err != nil {
				return nil, nil, fmt.Errorf("plugin %s: %w", p.Name, err)
			}
		}
	}
	return configurations, files, nil
}
