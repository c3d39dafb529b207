package kindtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// parse decodes YAML. Numbers stay as they are written.
func parse(text string) (any, error) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return value, d.Decode(&value)
}

// parseObject decodes the YAML of an object.
func parseObject(text string) (map[string]any, error) {
	value, err := parse(text)
	if err != nil || value == nil {
		return map[string]any{}, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: not an object", text)
	}
	return object, nil
}

// edited returns a copy of object with the edits that text lists.
func edited(object map[string]any, text string) (map[string]any, error) {
	out := any(maps.Clone(object))
	for _, edit := range split(text) {
		path, rest, err := parsePath(edit)
		if err != nil {
			return nil, err
		}
		value, err := parse(rest)
		if err != nil {
			return nil, err
		}
		if out, err = set(out, path, value); err != nil {
			return nil, fmt.Errorf("%s: %w", edit, err)
		}
	}
	return out.(map[string]any), nil
}

// split splits text into edits, at semicolons outside quotes.
func split(text string) (edits []string) {
	start, quote := 0, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ';' && strings.HasPrefix(text[i:], "; "):
			edits = append(edits, text[start:i])
			start = i + 2
		}
	}
	if start < len(text) {
		edits = append(edits, text[start:])
	}
	return edits
}

// step is a part of a path: the name of a field, or an index if name is empty.
type step struct {
	name  string
	index int
}

// parsePath parses the path at the start of an edit, which a colon ends, and returns the rest.
func parsePath(edit string) (path []step, rest string, err error) {
	edit = strings.TrimSpace(edit)
	for edit != "" {
		switch edit[0] {
		case ':':
			return path, edit[1:], nil
		case '.':
			edit = edit[1:]
		case '[':
			end := strings.IndexByte(edit, ']')
			if end < 0 {
				return nil, "", fmt.Errorf("%s: no closing bracket", edit)
			}
			if i, err := strconv.Atoi(edit[1:end]); err == nil {
				path = append(path, step{index: i})
			} else {
				path = append(path, step{name: edit[1:end]})
			}
			edit = edit[end+1:]
		default:
			end := strings.IndexAny(edit, ".[:")
			if end < 0 {
				return nil, "", fmt.Errorf("%s: no value", edit)
			}
			path = append(path, step{name: edit[:end]})
			edit = edit[end:]
		}
	}
	return nil, "", fmt.Errorf("%s: no value", edit)
}

// set returns in with another value at a path. It copies what it changes.
func set(in any, path []step, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	head, rest := path[0], path[1:]
	if head.name == "" {
		list, _ := in.([]any)
		return setElement(list, head.index, rest, value)
	}
	object, ok := in.(map[string]any)
	if !ok && in != nil {
		return nil, fmt.Errorf("%s is a field of no object", head.name)
	}
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	if value == nil && len(rest) == 0 {
		delete(out, head.name)
		return out, nil
	}
	var err error
	out[head.name], err = set(out[head.name], rest, value)
	return out, err
}

func setElement(list []any, i int, rest []step, value any) (any, error) {
	switch {
	case i > len(list):
		return nil, fmt.Errorf("index %d of a list of %d", i, len(list))
	case value == nil && len(rest) == 0:
		return slices.Delete(slices.Clone(list), i, min(i+1, len(list))), nil
	case i == len(list):
		list = append(slices.Clone(list), nil)
	default:
		list = slices.Clone(list)
	}
	var err error
	list[i], err = set(list[i], rest, value)
	return list, err
}

// at returns the value at a path, or nil.
func at(in any, path []step) any {
	for _, s := range path {
		switch v := in.(type) {
		case map[string]any:
			in = v[s.name]
		case []any:
			if s.index >= len(v) {
				return nil
			}
			in = v[s.index]
		default:
			return nil
		}
	}
	return in
}

// List returns a YAML list of n elements, which are format with the numbers from 0.
func List(n int, format string) string {
	elements := make([]string, n)
	for i := range elements {
		elements[i] = strings.ReplaceAll(format, "%d", strconv.Itoa(i))
	}
	return "[" + strings.Join(elements, ", ") + "]"
}
