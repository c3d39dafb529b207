package conversation

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Difference is a value in which a response differs from the recorded one.
type Difference struct {
	Path string `json:"path"`
	Want any    `json:"want"`
	Got  any    `json:"got"`
}

// absent replaces a missing value.
const absent = "<absent>"

// String formats the difference on one line and truncates long values.
func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s got %s", d.Path, truncated(d.Want), truncated(d.Got))
}

func truncated(v any) string {
	if s := []rune(dump(v)); len(s) > 160 {
		return string(s[:157]) + "..."
	}
	return dump(v)
}

// differences compares two normalised values.
func differences(want, got any, path string) []Difference {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return objectDifferences(w, g, path)
		}
	case []any:
		if g, ok := got.([]any); ok {
			return listDifferences(w, g, path)
		}
	default:
		if scalarsEqual(want, got) {
			return nil
		}
	}
	return []Difference{{path, want, got}}
}

func objectDifferences(want, got map[string]any, path string) []Difference {
	keys := slices.Collect(maps.Keys(want))
	for k := range got {
		if _, ok := want[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var out []Difference
	for _, k := range keys {
		p := k
		if path != "" {
			p = path + "." + k
		}
		w, inWant := want[k]
		g, inGot := got[k]
		switch {
		case !inGot:
			out = append(out, Difference{p, w, absent})
		case !inWant:
			out = append(out, Difference{p, absent, g})
		default:
			out = append(out, differences(w, g, p)...)
		}
	}
	return out
}

func listDifferences(want, got []any, path string) []Difference {
	var out []Difference
	if len(want) != len(got) {
		out = append(out, Difference{path + ".length", jsonInt(len(want)), jsonInt(len(got))})
	}
	for i := range min(len(want), len(got)) {
		out = append(out, differences(want[i], got[i], fmt.Sprintf("%s[%d]", path, i))...)
	}
	return out
}

func jsonInt(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// Equal reports whether two decoded JSON values are equal.
func Equal(a, b any) bool { return len(differences(a, b, "")) == 0 }

// scalarsEqual compares values that are neither objects nor lists. Numbers are compared by value,
// independent of their notation.
func scalarsEqual(a, b any) bool {
	x, xOK := rational(a)
	y, yOK := rational(b)
	if xOK && yOK {
		return x.Cmp(y) == 0
	}
	switch a.(type) {
	case nil, bool, string, json.Number:
		return a == b
	}
	return false
}

// rational returns the exact value of a number. Like in the recorder, booleans count as 0 and 1.
func rational(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewRat(1, 1), true
		}
		return new(big.Rat), true
	case json.Number:
		if !isFloat(v) {
			return new(big.Rat).SetString(v.String())
		}
		f, err := strconv.ParseFloat(v.String(), 64)
		if err != nil {
			return nil, false
		}
		r := new(big.Rat).SetFloat64(f)
		return r, r != nil
	}
	return nil, false
}

// lookup returns the value at a path such as "items.0.metadata.name", in which "~1" stands for a
// dot in a key, or nil if there is none.
func lookup(v any, path string) any {
	for _, part := range strings.Split(path, ".") {
		switch x := v.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		case map[string]any:
			v = x[strings.ReplaceAll(part, "~1", ".")]
		default:
			return nil
		}
	}
	return v
}

// removePath removes the value at a path from v in place and returns v; "*" matches every key or
// index of one level.
func removePath(v any, parts []string) any {
	head, rest := strings.ReplaceAll(parts[0], "~1", "."), parts[1:]
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			switch {
			case head != "*" && head != k:
			case len(rest) == 0:
				delete(x, k)
			default:
				x[k] = removePath(x[k], rest)
			}
		}
	case []any:
		kept := x[:0]
		for i, e := range x {
			hit := head == "*" || isDigits(head) && jsonInt(i) == json.Number(head)
			switch {
			case hit && len(rest) == 0:
				continue
			case hit:
				e = removePath(e, rest)
			}
			kept = append(kept, e)
		}
		return kept
	}
	return v
}

// masked returns the part of a response that a step compares. It shares no map and no slice with
// resp.
func (n normaliser) masked(resp map[string]any, step Step) map[string]any {
	out := maps.Clone(resp)
	headers := map[string]any{}
	if h, ok := resp["headers"].(map[string]any); ok {
		maps.Copy(headers, h)
	}
	out["headers"] = headers
	for _, part := range []string{"body", "events"} {
		if v, ok := out[part]; ok {
			out[part] = n.value(v, "")
		}
	}
	for _, path := range step.Ignore {
		if h, ok := strings.CutPrefix(path, "headers."); ok {
			delete(headers, h)
			continue
		}
		parts := strings.Split(path, ".")
		if v, ok := out["body"]; ok {
			out["body"] = removePath(v, parts)
		}
		if v, ok := out["events"]; ok {
			out["events"] = removePath(v, append([]string{"*"}, parts...))
		}
	}
	if step.Only != nil {
		n.project(out, step.Only)
	}
	return out
}

// project restricts the body of resp to the given paths. A recording contains them as "only".
func (n normaliser) project(resp map[string]any, paths []string) {
	body := resp["body"]
	delete(resp, "body")
	if len(paths) == 0 {
		return
	}
	if only, ok := resp["only"]; ok {
		delete(resp, "only")
		resp["body"] = n.value(only, "")
		return
	}
	values := map[string]any{}
	for _, p := range paths {
		values[p] = lookup(body, p)
	}
	resp["body"] = values
}
