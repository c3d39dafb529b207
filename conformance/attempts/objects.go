package attempts

import (
	_ "embed" // for the objects
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed testdata/objects.yaml
var objectsYAML string

// Objects returns a valid object of each kind, in the version in which testdata/objects.yaml has it.
// replace replaces the variables ${csr}, ${pkcs10} and ${bundle} in the file, and further texts.
func Objects(replace *strings.Replacer) (objects []map[string]any, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(replace.Replace(objectsYAML)), 1<<16)
	for {
		object := map[string]any{}
		switch err := decoder.Decode(&object); {
		case err == io.EOF:
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("testdata/objects.yaml: %w", err)
		}
		objects = append(objects, object)
	}
}
