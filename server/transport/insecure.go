package transport

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// userUnsecured is the user of requests on the insecure port, as in former versions of
// kube-apiserver.
const userUnsecured = "system:unsecured"

// InsecureUser returns the user of requests on the insecure port.
func InsecureUser() *request.User {
	return &request.User{Name: userUnsecured, Groups: []string{request.GroupMasters}}
}

// LocalOnly protects the insecure port from web pages. A browser on this machine can be
// made to send requests to the port, by a page of another site or by a DNS name that
// resolves to 127.0.0.1. Both are visible in the Host or the Origin header, which pages
// cannot set.
func LocalOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !isLocal(r.Host):
			writeForbidden(w, "the insecure port does not serve the host "+quoteShort(r.Host))
		case !allLocal(r.Header.Values("Origin")):
			writeForbidden(w, "the insecure port does not serve requests from the origin "+quoteShort(strings.Join(r.Header.Values("Origin"), ", ")))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isLocal reports whether a host, with or without a port, is a name of the loopback
// interface.
func isLocal(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
		if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
			host = host[1 : len(host)-1]
		}
	}
	switch strings.ToLower(host) {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}

// allLocal reports whether all origins are on this machine. The opaque origin "null" is
// not.
func allLocal(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !isLocal(u.Host) {
			return false
		}
	}
	return true
}

// quoteShort quotes a header for an error message, which it truncates to 80 bytes.
func quoteShort(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "..."
	}
	b, _ := json.Marshal(s) // cannot fail for a string
	return string(b)
}

func writeForbidden(w http.ResponseWriter, message string) {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Message:  "forbidden: " + message,
		Reason:   metav1.StatusReasonForbidden,
		Code:     http.StatusForbidden,
	})
	if err != nil {
		http.Error(w, message, http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write(body) // fails if the client has disconnected
}
