package conformance

import (
	"encoding/hex"
	"net/http"
	"strings"
	"unicode/utf8"
)

// keptHeaders are the response headers that are compared.
var keptHeaders = []string{"Content-Type", "Warning", "Retry-After", "Location", "Allow", "Www-Authenticate"}

// response is the normalised form of an answer, in which runID became "<id>",
// and the decoded body as it came (nil when it is not JSON).
func (n normaliser) response(a answer, runID string) (resp map[string]any, raw any) {
	anonymous := func(s string) string { return strings.ReplaceAll(s, runID, "<id>") }
	headers := map[string]any{}
	for _, k := range keptHeaders {
		if values := a.header.Values(k); len(values) > 0 {
			lines := make([]string, len(values))
			for i, v := range values {
				lines[i] = n.text(anonymous(v))
			}
			headers[strings.ToLower(k)] = strings.Join(lines, "\n")
		}
	}
	resp = map[string]any{"status": count(a.status), "headers": headers}
	if a.events != nil {
		resp["events"] = n.value(rename(a.events, anonymous), "")
		return resp, a.events
	}
	resp["body"], raw = n.body(a.data, a.header, anonymous)
	return resp, raw
}

func (n normaliser) body(data []byte, header http.Header, anonymous func(string) string) (body, raw any) {
	contentType := strings.Join(header.Values("Content-Type"), "\n")
	isJSON := strings.Contains(contentType, "json")
	if isJSON && utf8.Valid(data) {
		if v, err := decode(data); err == nil {
			return n.value(rename(v, anonymous), ""), v
		}
	}
	if isJSON || strings.HasPrefix(contentType, "text/") || strings.Contains(contentType, "yaml") || len(data) == 0 {
		// One replacement character for each byte that is not UTF-8.
		return n.text(anonymous(string([]rune(string(data))))), nil
	}
	return map[string]any{"bytes": hex.EncodeToString(data[:min(4, len(data))])}, nil
}

// rename returns a copy of v with f applied to every text and key.
func rename(v any, f func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[f(k)] = rename(x, f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = rename(x, f)
		}
		return out
	case string:
		return f(v)
	}
	return v
}
