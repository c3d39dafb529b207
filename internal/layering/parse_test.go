package layering

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ruleset is a parsed policy.
type ruleset struct {
	// below has, for each name, all names that it may import.
	below map[string]map[string]bool
	bans  []ban
}

// ban forbids an import, and packages in it, to all names except some.
type ban struct {
	path   string
	nobody bool // banned from: nobody
	but    map[string]bool
	reason string
}

// allows reports whether a layer, or a layer that contains it, is excepted from the ban.
func (b ban) allows(layer string) bool {
	for name := range b.but {
		if within(layer, name) {
			return true
		}
	}
	return false
}

// parse parses a policy.
func parse(text string) (ruleset, error) {
	r := ruleset{below: map[string]map[string]bool{}}
	rest, comment := text, ""
	for {
		rest, comment = skipComments(rest, comment)
		if rest == "" {
			return r, r.finish()
		}
		statement, after, ok := strings.Cut(rest, ";")
		if !ok {
			return r, fmt.Errorf("%q: no semicolon", strings.TrimSpace(rest))
		}
		var err error
		if path, who, isBan := strings.Cut(statement, "!<"); isBan {
			err = r.addBan(strings.TrimSpace(path), strings.TrimSpace(who), comment)
		} else {
			err = r.addOrder(statement)
		}
		if err != nil {
			return r, err
		}
		rest = after
	}
}

// skipComments skips white space and comments at the start of text. It returns the last
// comment, unless a blank line follows it.
func skipComments(text, comment string) (rest, reason string) {
	for fresh := true; ; {
		trimmed := strings.TrimLeft(text, " \t\n")
		if strings.Count(text[:len(text)-len(trimmed)], "\n") > 1 {
			comment = ""
		}
		text = trimmed
		if !strings.HasPrefix(text, "#") {
			return text, comment
		}
		line, after, _ := strings.Cut(text, "\n")
		if fresh {
			comment, fresh = "", false
		}
		comment = strings.TrimSpace(comment + " " + strings.TrimSpace(line[1:]))
		text = "\n" + after
	}
}

// addOrder adds a statement "a, b < c < d".
func (r *ruleset) addOrder(statement string) error {
	var lower []string
	for i, part := range strings.Split(statement, "<") {
		layer, err := names(part)
		if err != nil {
			return fmt.Errorf("%q: %w", strings.TrimSpace(statement), err)
		}
		for _, n := range layer {
			if r.below[n] == nil && n != "NONE" {
				r.below[n] = map[string]bool{}
			}
			for _, l := range lower {
				if i > 0 && l != "NONE" {
					r.below[n][l] = true
				}
			}
		}
		lower = layer
	}
	return nil
}

func (r *ruleset) addBan(path, who, reason string) error {
	if reason == "" {
		return fmt.Errorf("%s !< %s: a comment before it must state the reason", path, who)
	}
	b := ban{path: path, reason: reason, but: map[string]bool{}, nobody: who == "NONE"}
	if rest, ok := strings.CutPrefix(who, "ALL but "); ok {
		but, err := names(rest)
		if err != nil {
			return err
		}
		for _, n := range but {
			b.but[n] = true
		}
	} else if who != "ALL" && who != "NONE" {
		return fmt.Errorf("%s !< %s: want ALL, ALL but names, or NONE", path, who)
	}
	r.bans = append(r.bans, b)
	return nil
}

// finish makes below transitive, and returns an error for cycles and undefined names.
func (r *ruleset) finish() error {
	for range r.below { // paths are no longer than there are names
		for _, lower := range r.below {
			for _, l := range sorted(lower) {
				maps.Copy(lower, r.below[l])
			}
		}
	}
	for n, lower := range r.below {
		if lower[n] {
			return fmt.Errorf("%s is below itself", n)
		}
	}
	for _, b := range r.bans {
		for n := range b.but {
			if r.below[n] == nil {
				return fmt.Errorf("%s !< ALL but %s: %s is not in the order", b.path, n, n)
			}
		}
	}
	return nil
}

// names parses a list of names.
func names(text string) ([]string, error) {
	list := strings.Split(text, ",")
	for i, n := range list {
		list[i] = strings.TrimSpace(n)
		if list[i] == "" || strings.ContainsAny(list[i], " \t\n") {
			return nil, fmt.Errorf("%q is not a name", n)
		}
	}
	return list, nil
}

// check returns the violations of the policy, in order.
func (r ruleset) check(imports map[string][]string) []string {
	var faults []string
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		layer := r.layer(from)
		if layer == "" {
			faults = append(faults, from+" has no place in the policy")
			continue
		}
		for _, path := range imports[from] {
			if fault := r.fault(layer, path); fault != "" {
				faults = append(faults, from+" imports "+strings.TrimPrefix(path, module+"/")+": "+fault)
			}
		}
	}
	return faults
}

// fault returns the violation of an import by a layer, or "".
func (r ruleset) fault(layer, path string) string {
	if inside, ok := strings.CutPrefix(path, module+"/"); ok {
		switch to := r.layer(inside); {
		case to == "":
			return "it has no place in the policy"
		case to != layer && !r.below[layer][to]:
			return fmt.Sprintf("%s is not below %s", to, layer)
		}
		return ""
	}
	longest := ban{nobody: true}
	for _, b := range r.bans {
		if within(path, b.path) && len(b.path) > len(longest.path) {
			longest = b
		}
	}
	if longest.nobody || longest.allows(layer) {
		return ""
	}
	return longest.reason
}

// layer returns the longest name that contains a package.
func (r ruleset) layer(path string) string {
	longest := ""
	for n := range r.below {
		if within(path, n) && len(n) > len(longest) {
			longest = n
		}
	}
	return longest
}

// within reports whether a path is a directory or in it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
