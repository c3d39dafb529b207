package authn

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/textproto"
	"strings"
	"unicode/utf8"
)

// protocolPrefix starts the WebSocket subprotocol that contains a token.
const protocolPrefix = "base64url.bearer.authorization.k8s.io."

var protocolHeader = textproto.CanonicalMIMEHeaderKey("Sec-WebSocket-Protocol")

// WebSocket authenticates WebSocket requests of browsers, which cannot set other headers than the
// subprotocols: one of these contains the bearer token. The client must offer another subprotocol
// as well, since the server has to select one.
type WebSocket struct{ Tokens Token }

// Authenticate implements Authenticator. It removes the token from the headers of r.
func (s WebSocket) Authenticate(r *http.Request) (Identity, bool, error) {
	if len(r.Header[protocolHeader]) == 0 || !isWebSocket(r) {
		return Identity{}, false, nil
	}
	token, others, err := splitToken(r.Header[protocolHeader])
	if err != nil || token == "" {
		return Identity{}, false, err
	}
	if len(others) == 0 {
		return Identity{}, false, errors.New("missing additional subprotocol")
	}
	id, ok, err := s.Tokens.AuthenticateToken(r.Context(), token)
	switch {
	case err != nil:
		return Identity{}, false, err
	case !ok:
		return Identity{}, false, errBadToken
	}
	r.Header.Set(protocolHeader, strings.Join(others, ","))
	return id, true, nil
}

// HasWebSocketToken reports whether a request is one for a WebSocket that has a token, valid or
// not, in a subprotocol.
func HasWebSocketToken(r *http.Request) bool {
	token, _, err := splitToken(r.Header[protocolHeader])
	return err == nil && token != "" && isWebSocket(r)
}

func isWebSocket(r *http.Request) bool {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return false
	}
	for part := range strings.SplitSeq(r.Header.Get("Connection"), ",") {
		if strings.EqualFold(strings.TrimSpace(part), "upgrade") {
			return true
		}
	}
	return false
}

// splitToken separates the token from the other subprotocols.
func splitToken(headers []string) (token string, others []string, err error) {
	found := false
	for protocol := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		protocol = strings.TrimSpace(protocol)
		encoded, ok := strings.CutPrefix(protocol, protocolPrefix)
		if !ok {
			others = append(others, protocol)
			continue
		}
		if found {
			return "", nil, errors.New("multiple base64.bearer.authorization tokens specified")
		}
		found = true
		decoded, err := base64.RawURLEncoding.DecodeString(encoded)
		if err != nil {
			return "", nil, errors.New("invalid base64.bearer.authorization token encoding")
		}
		if !utf8.Valid(decoded) {
			return "", nil, errors.New("invalid base64.bearer.authorization token")
		}
		token = string(decoded)
	}
	return token, others, nil
}
