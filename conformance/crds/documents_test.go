package crds

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// fenced matches a block of YAML in Markdown, or in a comment of a protobuf or Go file whose lines
// share a prefix.
var fenced = regexp.MustCompile("(?m)^([ \t]*(?://)?[ \t]*)```[ ]?(?:yaml|yml)[^\n]*\n((?s:.*?))\n[ \t]*(?://)?[ \t]*```")

// documents returns the objects in a file, which is YAML or a text with YAML blocks. Templates and
// excerpts are skipped.
func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if ext := filepath.Ext(file); ext == ".yaml" || ext == ".yml" {
		return objects(text)
	}
	var all []*unstructured.Unstructured
	for _, block := range fenced.FindAllSubmatch(text, -1) {
		var inner bytes.Buffer
		for line := range strings.SplitSeq(string(block[2]), "\n") {
			inner.WriteString(trimLinePrefix(line, string(block[1])) + "\n")
		}
		all = append(all, objects(inner.Bytes())...)
	}
	return all
}

// trimLinePrefix removes the prefix that all lines share; an empty line may lack the trailing
// space.
func trimLinePrefix(line, prefix string) string {
	if rest, ok := strings.CutPrefix(line, prefix); ok {
		return rest
	}
	return strings.TrimPrefix(line, strings.TrimRight(prefix, " \t"))
}

// objects returns the objects in a stream of YAML documents.
func objects(text []byte) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for r := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			continue
		}
		data, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			continue
		}
		u := &unstructured.Unstructured{}
		if u.UnmarshalJSON(data) == nil && u.GetAPIVersion() != "" {
			all = append(all, u)
		}
	}
}
