package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// At returns the value at a path of an object, and whether there is one.
func At(object any, path Path) (any, bool) {
	for _, s := range path {
		child, found := step(object, s)
		if !found {
			return nil, false
		}
		object = child
	}
	return object, true
}

func step(object any, s Step) (any, bool) {
	switch object := object.(type) {
	case map[string]any:
		child, found := object[s.Field]
		return child, found && s.Index < 0
	case []any:
		if s.Index >= 0 && s.Index < len(object) {
			return object[s.Index], true
		}
	}
	return nil, false
}

// ParsePath returns the path in an object that a text of a Change means. A key may be in quotes or brackets, and a key with
// dots also without them, if the object has it.
func ParsePath(object any, text string) (Path, error) {
	var path Path
	for rest := text; rest != ""; {
		s, tail, err := nextStep(object, rest)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		object, _ = step(object, s) // nil if the object does not have it
		path, rest = append(path, s), tail
	}
	return path, nil
}

// nextStep returns the first step of a text and what follows it.
func nextStep(object any, text string) (Step, string, error) {
	if inner, found := strings.CutPrefix(text, "["); found {
		return bracket(object, inner)
	}
	text = strings.TrimPrefix(text, ".")
	if fields, ok := object.(map[string]any); ok {
		// The longest key of the object that the text begins with.
		best := ""
		for key := range fields {
			tail, found := strings.CutPrefix(text, key)
			if found && len(key) > len(best) && (tail == "" || tail[0] == '.' || tail[0] == '[') {
				best = key
			}
		}
		if best != "" {
			return Step{best, -1}, text[len(best):], nil
		}
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return Step{}, "", fmt.Errorf("a name is missing before %q", text)
	}
	return Step{text[:end], -1}, text[end:], nil
}

// bracket returns the step in brackets, the first of which is gone.
func bracket(object any, text string) (Step, string, error) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil && strings.HasPrefix(text[len(quoted):], "]") {
		key, err := strconv.Unquote(quoted)
		return Step{key, -1}, text[len(quoted)+1:], err
	}
	key, rest, found := strings.Cut(text, "]")
	if !found {
		return Step{}, "", fmt.Errorf("a bracket is not closed")
	}
	_, isMap := object.(map[string]any)
	if n, err := strconv.Atoi(key); err == nil && n >= 0 && n <= maxIndex && !isMap {
		return Step{Index: n}, rest, nil
	}
	return Step{key, -1}, rest, nil
}

// maxIndex bounds the index of an element. No stored list is as long.
const maxIndex = 1 << 24

// set returns the object with a value at a path. Fields on the way are made; an element may come right after the last.
// Values of the object are not changed but copied where they differ.
func set(object any, path Path, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	s := path[0]
	child, found := step(object, s)
	if !found && len(path) > 1 && path[1].Index >= 0 {
		child = []any{}
	}
	child, err := set(child, path[1:], value)
	if err != nil {
		return nil, err
	}
	switch list, isList := object.([]any); {
	case s.Index >= 0 && isList && s.Index < len(list):
		list = slices.Clone(list)
		list[s.Index] = child
		return list, nil
	case s.Index >= 0 && isList && s.Index == len(list):
		return append(slices.Clip(list), child), nil
	case s.Index >= 0 || isList:
		return nil, fmt.Errorf("there is no element %d", s.Index)
	}
	fields, ok := object.(map[string]any)
	if !ok && object != nil {
		return nil, fmt.Errorf("%q is a field of a value that has none", s.Field)
	}
	fields = cloneFields(fields)
	fields[s.Field] = child
	return fields, nil
}

// remove returns the object without the value at a path.
func remove(object any, path Path) (any, error) {
	s := path[0]
	child, found := step(object, s)
	if !found {
		return nil, fmt.Errorf("there is no %s", path)
	}
	if len(path) > 1 {
		child, err := remove(child, path[1:])
		if err != nil {
			return nil, err
		}
		return set(object, path[:1], child)
	}
	if list, ok := object.([]any); ok {
		return slices.Delete(slices.Clone(list), s.Index, s.Index+1), nil
	}
	fields := cloneFields(object.(map[string]any)) // step found a field in it
	delete(fields, s.Field)
	return fields, nil
}

func cloneFields(fields map[string]any) map[string]any {
	clone := make(map[string]any, len(fields)+1)
	for name, value := range fields {
		clone[name] = value
	}
	return clone
}
