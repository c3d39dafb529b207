package lab

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/gotype"
	"github.com/miniapiserver/miniapiserver/internal/quickjson"
	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// secrets are the placeholders of a Recording. It has digests of the secrets, not the secrets.
type secrets struct {
	key  [32]byte
	mu   sync.Mutex
	seen map[[32]byte]int
}

func newSecrets() *secrets {
	s := &secrets{seen: map[[32]byte]int{}}
	_, _ = rand.Read(s.key[:]) // never fails
	return s
}

// placeholder returns what stands for a secret.
func (s *secrets) placeholder(secret string) string {
	digest := sha256.Sum256(append(s.key[:], secret...))
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.seen[digest]
	if n == 0 {
		n = len(s.seen) + 1
		s.seen[digest] = n
	}
	var object map[string]json.RawMessage
	return conversation.Placeholder(n, json.Unmarshal([]byte(secret), &object) == nil && object != nil)
}

// inBase64 returns what stands for a secret in base64, which is base64 as well.
func (s *secrets) inBase64(encoded string) string {
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return s.placeholder(encoded) // the server refuses it as well
	}
	return base64.StdEncoding.EncodeToString([]byte(s.placeholder(string(secret))))
}

// redactor replaces the secrets in the bodies of an exchange: the confidential fields of its kinds, and credentials in any text.
type redactor struct {
	*secrets
	hasSecrets bool // some fields of the kinds are confidential
	isForeign  bool // the body is of another kind, whose secrets are not known
	kinds      []string
	types      []reflect.Type
	differ     *differ
}

// newRedactor returns the redactor of requests for a subresource of a resource, which is nil for requests that are for none.
func newRedactor(s *secrets, res *api.Resource, subresource string) *redactor {
	r := &redactor{secrets: s}
	var confidential []string
	add := func(res *api.Resource) {
		confidential = append(confidential, res.Confidential...)
		r.kinds = append(r.kinds, res.Kind)
		if res.New != nil {
			r.types = append(r.types, reflect.TypeOf(res.New()))
		}
	}
	if res != nil {
		add(res)
		for _, sub := range res.Subresources {
			if name, _ := sub.Path(); name == subresource {
				if kind := api.BodyKind(sub); kind != nil {
					add(kind)
				}
			}
		}
	}
	r.hasSecrets, r.differ = len(confidential) > 0, newDiffer(confidential)
	return r
}

// replace returns what stands for a confidential value.
func (r *redactor) replace(names []string, value any) any {
	switch v := value.(type) {
	case nil, bool:
		return v
	case string:
		switch {
		case v == "":
			return v
		case slices.ContainsFunc(r.types, func(t reflect.Type) bool { return hasBytesAt(t, names) }):
			return r.inBase64(v)
		}
		return r.placeholder(v)
	}
	return r.placeholder(compactJSON(value))
}

// request returns the body of a request without secrets. It reports false for one of another kind than the request is for, whose
// secrets are not known.
func (r *redactor) request(data []byte) (jsonText, bool) {
	trimmed := strings.TrimSpace(string(data))
	if strings.HasPrefix(trimmed, "[") { // a JSON patch
		return r.patch(data)
	}
	doc, err := quickjson.Read(data)
	if err != nil {
		return nil, false
	}
	kind, _ := doc["kind"].(string)
	if kind != "" && len(r.kinds) > 0 && !slices.Contains(r.kinds, kind) && !strings.HasSuffix(kind, "Options") {
		r.isForeign = true
		return nil, false
	}
	return r.document(data, doc), true
}

// patch returns a JSON patch without secrets.
func (r *redactor) patch(data []byte) (jsonText, bool) {
	var operations []map[string]any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if d.Decode(&operations) != nil {
		return nil, false
	}
	if !r.hasSecrets {
		return jsonText(r.text(string(data))), true
	}
	for _, o := range operations {
		path, _ := o["path"].(string)
		var names []string
		for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			if name != "" {
				names = append(names, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
			}
		}
		if value, ok := o["value"]; ok {
			o["value"] = r.differ.redact(names, value, r.replace)
		}
	}
	return jsonText(r.text(compactJSON(operations))), true
}

// response returns an object, a list, a Table or an event of a watch without secrets.
func (r *redactor) response(data []byte) (jsonText, bool) {
	if !r.mayQuote() {
		if !json.Valid(data) {
			return nil, false
		}
		return jsonText(r.text(string(data))), true
	}
	doc, err := quickjson.Read(data)
	if err != nil {
		return nil, false
	}
	if object, ok := doc["object"].(map[string]any); ok && doc["type"] != nil {
		doc["object"] = r.objects(object)
		return jsonText(r.text(compactJSON(doc))), true
	}
	return r.document(data, doc), true
}

// document returns an object without secrets, as it was if its kind has none.
func (r *redactor) document(data []byte, doc map[string]any) jsonText {
	if !r.mayQuote() {
		return jsonText(r.text(string(data)))
	}
	return jsonText(r.text(compactJSON(r.objects(doc))))
}

// mayQuote reports whether the response may quote secrets.
func (r *redactor) mayQuote() bool { return r.hasSecrets || r.isForeign }

// objects returns an object, a list or a Table without secrets.
func (r *redactor) objects(doc map[string]any) map[string]any {
	kind, _ := doc["kind"].(string)
	switch items, isList := doc["items"].([]any); {
	case kind == "Status":
		return withheldStatus(doc)
	case isList:
		for i, item := range items {
			items[i] = r.differ.redact(nil, item, r.replace)
		}
		return doc
	case kind == "Table":
		rows, _ := doc["rows"].([]any)
		for _, row := range rows {
			if row, ok := row.(map[string]any); ok {
				row["object"] = r.differ.redact(nil, row["object"], r.replace)
			}
		}
		return doc
	}
	out, _ := r.differ.redact(nil, doc, r.replace).(map[string]any)
	return out
}

// withheldStatus returns a Status of a kind with secrets, whose message may quote them.
func withheldStatus(status map[string]any) map[string]any {
	if _, ok := status["message"]; ok {
		status["message"] = withheldMessage
	}
	if details, ok := status["details"].(map[string]any); ok {
		delete(details, "causes")
	}
	return status
}

// hasBytesAt reports whether the field of a Go type at some names is bytes, which JSON has in base64.
func hasBytesAt(t reflect.Type, names []string) bool {
	for _, name := range names {
		if t = gotype.Deref(t); t.Kind() == reflect.Map {
			t = t.Elem()
			continue
		}
		f, ok := gotype.Member(t, name)
		if !ok {
			return false
		}
		t = f.Type
	}
	return t == reflect.TypeFor[[]byte]()
}

// Credentials in texts, as they are in JSON.
var (
	tokenText      = regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]*\.[\w-]+`)
	keyText        = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-----END [A-Z ]*PRIVATE KEY-----`)
	encodedText    = regexp.MustCompile(`\bLS0tLS1CRUdJTi[A-Za-z0-9+/]+={0,2}`) // base64 of -----BEGIN
	bearerText     = regexp.MustCompile(`\b(Bearer|Basic) ([\w.~+/=-]{12,})`)
	kubeconfigText = regexp.MustCompile(`(\b(?:token|password|client-key-data|id-token|refresh-token|client-secret)\\*"?:[ \\"]*)` +
		`([^\s"\\,}]+)`)
)

// text returns a text without the credentials in it.
func (r *redactor) text(s string) string {
	if strings.Contains(s, "eyJ") {
		s = tokenText.ReplaceAllStringFunc(s, r.placeholder)
	}
	if strings.Contains(s, "PRIVATE KEY") {
		s = keyText.ReplaceAllStringFunc(s, r.placeholder)
	}
	if strings.Contains(s, "LS0tLS1CRUdJTi") {
		s = encodedText.ReplaceAllStringFunc(s, func(encoded string) string {
			if pem, err := base64.StdEncoding.DecodeString(encoded); err == nil && strings.Contains(string(pem), "PRIVATE KEY") {
				return r.inBase64(encoded)
			}
			return encoded
		})
	}
	if strings.Contains(s, "Bearer ") || strings.Contains(s, "Basic ") {
		s = r.inGroup(bearerText, s, func(secret string) bool { return strings.ContainsAny(secret, "0123456789") })
	}
	if strings.Contains(s, "current-context") {
		s = r.inGroup(kubeconfigText, s, func(secret string) bool { return !strings.Contains(secret, "lab-redacted-") })
	}
	return s
}

// inGroup replaces the second group of the matches of a pattern whose text is a secret.
func (r *redactor) inGroup(pattern *regexp.Regexp, s string, isSecret func(string) bool) string {
	return pattern.ReplaceAllStringFunc(s, func(match string) string {
		parts := pattern.FindStringSubmatch(match)
		secret := parts[2]
		if !isSecret(secret) {
			return match
		}
		return strings.TrimSuffix(match, secret) + r.placeholder(secret)
	})
}
