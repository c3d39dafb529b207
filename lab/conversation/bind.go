package conversation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// binder finds which values of this run stand for those that the recorded server generated: uids, resourceVersions, generated names,
// continue tokens, addresses, times, and secrets that the recording has placeholders for. It is safe for concurrent use.
type binder struct {
	normaliser
	mu sync.RWMutex
	// anywhere has values that nothing else equals; others has those that are only meant under their key.
	anywhere map[string]string
	others   map[keyedValue]any
	// quoted are the generated names, the addresses and the ports, which messages and the cells of tables quote.
	quoted map[string]string
}

// keyedValue is a value of a key.
type keyedValue struct {
	key   string
	value any
}

func newBinder(n normaliser) *binder {
	return &binder{normaliser: n, anywhere: map[string]string{}, others: map[keyedValue]any{}, quoted: map[string]string{}}
}

// learn compares a recorded value with the received one, and binds those that differ only because they are generated. It returns the
// received value with the placeholders of the recorded one.
func (b *binder) learn(want, got any, key string) any {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return b.learnObject(w, g, key)
		}
	case []any:
		if g, ok := got.([]any); ok {
			return b.learnList(w, g, key)
		}
	case string:
		g, ok := got.(string)
		if !ok || w == g {
			return got
		}
		if isPlaceholder(w) {
			b.bindSecret(w, g)
			return w
		}
		if b.str(w, key) == b.str(g, key) {
			b.bind(key, w, g)
		}
	case json.Number:
		if g, ok := got.(json.Number); ok && w != g && b.value(w, key) == b.value(g, key) {
			b.bind(key, w, g)
		}
	}
	return got
}

// Keys in place of those of a list's metadata and its resourceVersion, which is another one than that of any object in it.
const (
	listMeta    = "metadata of a list"
	listVersion = "resourceVersion of a list"
)

func (b *binder) learnObject(want, got map[string]any, key string) any {
	generate, _ := want["generateName"].(string)
	name, _ := want["name"].(string)
	other, _ := got["name"].(string)
	if generate != "" && other != name && strings.HasPrefix(name, generate) && strings.HasPrefix(other, generate) {
		b.bindName(name, other)
	}
	isList := want["items"] != nil || want["rows"] != nil || want["metadata"] != nil && key == "object of a bookmark"
	out := make(map[string]any, len(got))
	for k, g := range got {
		w, ok := want[k]
		switch {
		case !ok:
		case k == "metadata" && isList:
			g = b.learn(w, g, listMeta)
		case k == "object" && want["type"] == "BOOKMARK":
			g = b.learn(w, g, "object of a bookmark")
		case k == "resourceVersion" && key == listMeta && w != g:
			b.bind(listVersion, w, g)
		default:
			g = b.learn(w, g, k)
		}
		out[k] = g
	}
	return out
}

// learnList learns from the elements of lists: objects with the same names, and other elements at the same place.
func (b *binder) learnList(want, got []any, key string) any {
	out := append([]any{}, got...)
	places := map[string][]int{}
	for i, g := range got {
		places[elementName(g)] = append(places[elementName(g)], i)
	}
	for i, w := range want {
		name := elementName(w)
		at := i
		if list := places[name]; name != "" && len(list) > 0 {
			at, places[name] = list[0], list[1:]
		} else if name != "" || i >= len(got) {
			continue
		}
		out[at] = b.learn(w, got[at], key)
	}
	return out
}

// elementName returns the namespace and the name of an object in a list, of a name that is generated the part that is not; empty for
// another element.
func elementName(e any) string {
	if row := lookup(e, "object"); row != nil {
		e = row
	}
	name, _ := lookup(e, "metadata.name").(string)
	if generate, ok := lookup(e, "metadata.generateName").(string); ok && strings.HasPrefix(name, generate) {
		name = generate
	}
	if name == "" {
		return ""
	}
	return fmt.Sprint(lookup(e, "metadata.namespace"), "/", name)
}

var uid = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// bind binds a recorded value of a key.
func (b *binder) bind(key string, want, got any) {
	w, isText := want.(string)
	g, _ := got.(string)
	if isText && (key == "continue" || uid.MatchString(w) && len(w) == len(g)) {
		b.bindAnywhere(w, g)
		return
	}
	if isText && key == "clusterIP" {
		b.bindName(w, g)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.others[keyedValue{key, want}] = got
	if port, ok := want.(json.Number); ok {
		b.quoted[port.String()] = fmt.Sprint(got)
	}
}

func (b *binder) bindAnywhere(want, got string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.anywhere[want] = got
}

// bindName binds a generated name, or an address.
func (b *binder) bindName(want, got string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.anywhere[want], b.quoted[want] = got, got
}

// expected returns a recorded response with what it quotes as this run has it.
func (b *binder) expected(response map[string]any) map[string]any {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.quoted) == 0 {
		return response
	}
	out, _ := mapStrings(response, func(s string) string {
		return nameText.ReplaceAllStringFunc(s, func(name string) string {
			if bound, ok := b.quoted[name]; ok {
				return bound
			}
			return name
		})
	}).(map[string]any)
	return out
}

// bindSecret binds a placeholder, and the form of it that is base64, or is not.
func (b *binder) bindSecret(placeholder, secret string) {
	b.bindAnywhere(placeholder, secret)
	plain, err := base64.StdEncoding.DecodeString(placeholder)
	if err != nil {
		b.bindAnywhere(base64.StdEncoding.EncodeToString([]byte(placeholder)), base64.StdEncoding.EncodeToString([]byte(secret)))
	} else if decoded, err := base64.StdEncoding.DecodeString(secret); err == nil {
		b.bindAnywhere(string(plain), string(decoded))
	}
}

// learnConditions binds the headers of a document by which later requests for it are conditional.
func (b *binder) learnConditions(s Step, header http.Header) {
	for condition, values := range map[string][2]string{
		"If-None-Match": {s.Timing.ETag, header.Get("ETag")}, "If-Modified-Since": {s.Timing.LastModified, header.Get("Last-Modified")},
	} {
		if values[0] != "" && values[0] != values[1] {
			b.bind(condition+s.Path, values[0], values[1])
		}
	}
}

// headers returns the headers of a step with the values of this run.
func (b *binder) headers(s Step) map[string]string {
	out := maps.Clone(s.Headers)
	for _, condition := range []string{"If-None-Match", "If-Modified-Since"} {
		if bound, ok := b.others[keyedValue{condition + s.Path, out[condition]}].(string); ok {
			out[condition] = bound
		}
	}
	return out
}

// request returns a step with the values of this run.
func (b *binder) request(s Step) Step {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if len(b.anywhere)+len(b.others) == 0 {
		return s
	}
	s.Headers = b.headers(s)
	s.Path = b.path(s.Path)
	if v, err := decodeJSON(s.Body); err == nil {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if e.Encode(b.substituted(v, "")) == nil {
			s.Body = bytes.TrimSpace(out.Bytes())
		}
	}
	return s
}

// path returns a path with the values of this run in its segments and its query.
func (b *binder) path(path string) string {
	path, query, hasQuery := strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if name, err := url.PathUnescape(s); err == nil {
			if bound := b.word(name); bound != name {
				segments[i] = url.PathEscape(bound)
			}
		}
	}
	path = strings.Join(segments, "/")
	if !hasQuery {
		return path
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		text, err := url.QueryUnescape(value)
		if err != nil {
			continue
		}
		if bound := b.parameter(key, text); bound != text {
			pairs[i] = key + "=" + url.QueryEscape(bound)
		}
	}
	return path + "?" + strings.Join(pairs, "&")
}

// nameText is a text that may be the name of an object.
var nameText = regexp.MustCompile(`[\w.-]+`)

// parameter returns the value of a parameter of a query.
func (b *binder) parameter(key, value string) string {
	if bound, ok := b.others[keyedValue{listVersion, value}].(string); ok && key == "resourceVersion" {
		return bound
	}
	if bound, ok := b.others[keyedValue{key, value}].(string); ok {
		return bound
	}
	if strings.HasSuffix(key, "Selector") {
		return nameText.ReplaceAllStringFunc(value, b.word)
	}
	return b.word(value)
}

// word returns what stands for a text, or for the uids in it.
func (b *binder) word(s string) string {
	if bound, ok := b.anywhere[s]; ok {
		return bound
	}
	return uid.ReplaceAllStringFunc(s, func(u string) string {
		if bound, ok := b.anywhere[u]; ok {
			return bound
		}
		return u
	})
}

// substituted returns a value of a body. The key of a value in a JSON patch is the last one of its path.
func (b *binder) substituted(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		path, isOperation := v["path"].(string)
		isOperation = isOperation && v["op"] != nil
		for k, x := range v {
			under := k
			if isOperation && k == "value" {
				under = path[strings.LastIndexByte(path, '/')+1:]
			}
			v[k] = b.substituted(x, under)
		}
	case []any:
		for i, x := range v {
			v[i] = b.substituted(x, key)
		}
	case string, json.Number:
		if bound, ok := b.others[keyedValue{key, v}]; ok {
			return bound
		}
		if s, ok := v.(string); ok {
			return b.word(s)
		}
	}
	return v
}
