package server

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// userUnsecured is who asks on the insecure port, as it was in kube-apiserver
// while that had one.
const userUnsecured = "system:unsecured"

func insecureUser() *request.User {
	return &request.User{Name: userUnsecured, Groups: []string{request.GroupMasters}}
}

// localOnly guards the insecure port from web pages. A browser on this machine
// can be made to send requests to it, by a foreign page or by a name of another
// site that was made to point here; both show in the Host or the Origin header,
// which pages cannot set.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !isLocal(r.Host):
			writeForbidden(w, "the insecure port answers no request to the host "+quoteShort(r.Host))
		case !allLocal(r.Header.Values("Origin")):
			writeForbidden(w, "the insecure port answers no request of the origin "+quoteShort(strings.Join(r.Header.Values("Origin"), ", ")))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isLocal tells whether a host, with or without a port, is a name of the
// loopback interface.
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

// allLocal tells whether every origin is a page of this machine. The opaque
// origin "null" is not.
func allLocal(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || !isLocal(u.Host) {
			return false
		}
	}
	return true
}

// quoteShort keeps what a header says short in an answer.
func quoteShort(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "..."
	}
	b, _ := json.Marshal(s) // a string always can
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
	_, _ = w.Write(body) // the client may be gone, which is its loss
}
