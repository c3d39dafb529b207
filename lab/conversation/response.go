package conversation

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// comparedHeaders are the response headers that are compared.
var comparedHeaders = []string{"Content-Type", "Warning", "Retry-After", "Location", "Allow", "Www-Authenticate"}

// ComparedHeaders returns the names of the response headers that are compared.
func ComparedHeaders() []string { return slices.Clone(comparedHeaders) }

// Binary returns what a recording has of a body that is no text.
func Binary(data []byte) map[string]any {
	return map[string]any{"bytes": hex.EncodeToString(data[:min(4, len(data))])}
}

// response returns the normalised form of a response, in which own replaces the values that only this
// run has, and the decoded body as received (nil if it is not JSON).
func (n normaliser) response(a httpResponse, own *strings.Replacer) (resp map[string]any, raw any) {
	replaceID := own.Replace
	headers := map[string]any{}
	for _, k := range comparedHeaders {
		if values := a.header.Values(k); len(values) > 0 {
			lines := make([]string, len(values))
			for i, v := range values {
				lines[i] = n.text(replaceID(v))
			}
			headers[strings.ToLower(k)] = strings.Join(lines, "\n")
		}
	}
	resp = map[string]any{"status": jsonInt(a.status), "headers": headers}
	if a.events != nil {
		resp["events"] = n.value(mapStrings(a.events, replaceID), "")
		return resp, a.events
	}
	resp["body"], raw = n.body(a.data, a.header, replaceID)
	return resp, raw
}

func (n normaliser) body(data []byte, header http.Header, replaceID func(string) string) (body, raw any) {
	contentType := strings.Join(header.Values("Content-Type"), "\n")
	isJSON := strings.Contains(contentType, "json")
	if isJSON && utf8.Valid(data) {
		if v, err := decodeJSON(data); err == nil {
			return n.value(mapStrings(v, replaceID), ""), v
		}
	}
	if isJSON || strings.HasPrefix(contentType, "text/") || strings.Contains(contentType, "yaml") || len(data) == 0 {
		// Each byte that is not UTF-8 becomes a replacement character.
		return n.text(replaceID(string([]rune(string(data))))), nil
	}
	return Binary(data), nil
}

// mapStrings returns a copy of v with f applied to each string and key.
func mapStrings(v any, f func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[f(k)] = mapStrings(x, f)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = mapStrings(x, f)
		}
		return out
	case string:
		return f(v)
	}
	return v
}
