// Package hook has a webhook server whose answers are written in the URLs that call it, so that a
// story can say what a webhook answers and needs no program of its own. It serves admission and
// conversion webhooks of conformance and conformance/random.
package hook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Spec says what the server answers to a review.
type Spec struct {
	// Raw is the whole body of the answer, instead of a review.
	Raw *string `json:"raw,omitempty"`
	// HTTP is the status code; 0 means 200.
	HTTP int `json:"http,omitempty"`
	// Version is the apiVersion of the review; "" means that of the request.
	Version string `json:"version,omitempty"`
	// UID is the uid of the response; nil means that of the request.
	UID *string `json:"uid,omitempty"`
	// If restricts the answer to an operation, such as UPDATE. Requests of others are allowed.
	If string `json:"if,omitempty"`
	// Response has the fields of an admission response.
	Response map[string]any `json:"response,omitempty"`
	// Echo lists paths with dots in the review, whose values are the message of the response as JSON, or
	// a warning if the response allows the request.
	Echo []string `json:"echo,omitempty"`
	// Delay is the time before the answer in seconds.
	Delay float64 `json:"delay,omitempty"`
	// Convert says how the objects of a conversion review are converted.
	Convert *Conversion `json:"convert,omitempty"`
}

// Conversion says how objects are converted: they get the desired version, and then these changes.
type Conversion struct {
	// Failure is the message of a conversion that fails.
	Failure string `json:"failure,omitempty"`
	// Move has, for a desired version, fields of spec that get other names.
	Move map[string]map[string]string `json:"move,omitempty"`
	// Set has, for a desired version, fields of the object that get values, by a path with dots.
	Set map[string]map[string]any `json:"set,omitempty"`
	// Drop is the number of objects missing from the end of the answer.
	Drop int `json:"drop,omitempty"`
}

// Path returns the path of a URL whose answers are those of the Spec.
func (s Spec) Path() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("answer of a webhook: %v", err)) // its values come from source code
	}
	return "/" + base64.RawURLEncoding.EncodeToString(text)
}

// Server is a running webhook server at 127.0.0.1.
type Server struct {
	// URL is the base of the URLs, and CA the certificate for clients, as the caBundle of a client
	// configuration has it.
	URL, CA string

	server *httptest.Server
}

// Start starts a server.
func Start() (*Server, error) {
	certificate, bundle, err := selfSigned()
	if err != nil {
		return nil, err
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(answer))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // clients that refuse the certificate are no news
	s.StartTLS()
	return &Server{URL: s.URL, CA: base64.StdEncoding.EncodeToString(bundle), server: s}, nil
}

// Close stops the server.
func (s *Server) Close() { s.server.Close() }

func selfSigned() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// review is the common part of admission and conversion reviews.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    struct {
		UID               string           `json:"uid"`
		Operation         string           `json:"operation"`
		DesiredAPIVersion string           `json:"desiredAPIVersion"`
		Objects           []map[string]any `json:"objects"`
	} `json:"request"`
}

func answer(w http.ResponseWriter, r *http.Request) {
	var spec Spec
	var asked review
	var whole any
	text, err := base64.RawURLEncoding.DecodeString(strings.Trim(r.URL.Path, "/"))
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	if err == nil {
		err = decode(r.Body, &asked, &whole)
	}
	var body []byte
	switch {
	case err != nil:
	case spec.Raw != nil:
		body = []byte(*spec.Raw)
	default:
		body, err = json.Marshal(spec.review(asked, whole))
	}
	if spec.Delay > 0 {
		select {
		case <-r.Context().Done():
		case <-time.After(time.Duration(spec.Delay * float64(time.Second))):
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if spec.HTTP != 0 {
		w.WriteHeader(spec.HTTP)
	}
	_, _ = w.Write(body) // an error is that of the client, which sees it too
}

// decode reads a body into several values.
func decode(body io.Reader, values ...any) error {
	text, err := io.ReadAll(body)
	for _, v := range values {
		if err == nil {
			err = json.Unmarshal(text, v)
		}
	}
	return err
}

// review returns the answer to a review, which is also decoded as whole.
func (s Spec) review(asked review, whole any) map[string]any {
	response := map[string]any{}
	switch {
	case s.Convert != nil:
		response = s.Convert.response(asked)
	case s.If != "" && s.If != asked.Request.Operation:
		response["allowed"] = true
	default:
		for name, value := range s.Response {
			response[name] = value
		}
		s.echo(response, whole)
	}
	response["uid"] = asked.Request.UID
	if s.UID != nil {
		response["uid"] = *s.UID
	}
	version := asked.APIVersion
	if s.Version != "" {
		version = s.Version
	}
	return map[string]any{"apiVersion": version, "kind": asked.Kind, "response": response}
}

// echo adds the values of a review that the Spec wants to a response.
func (s Spec) echo(response map[string]any, whole any) {
	if len(s.Echo) == 0 {
		return
	}
	values := map[string]any{}
	for _, path := range s.Echo {
		values[path] = at(whole, strings.Split(path, "."))
	}
	text, err := json.Marshal(values)
	if err != nil {
		text = []byte(err.Error())
	}
	if response["allowed"] == true {
		response["warnings"] = []any{string(text)}
		return
	}
	status := map[string]any{}
	if given, ok := response["status"].(map[string]any); ok {
		maps.Copy(status, given)
	}
	status["message"] = string(text)
	response["status"] = status
}

// at returns the value at a path of names, or nil.
func at(v any, path []string) any {
	for _, name := range path {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

func (c *Conversion) response(asked review) map[string]any {
	if c.Failure != "" {
		return map[string]any{"result": map[string]any{"status": "Failure", "message": c.Failure}}
	}
	desired := asked.Request.DesiredAPIVersion
	_, version, _ := strings.Cut(desired, "/")
	objects := asked.Request.Objects
	for _, object := range objects {
		object["apiVersion"] = desired
		if spec, ok := object["spec"].(map[string]any); ok {
			for from, to := range c.Move[version] {
				if value, has := spec[from]; has {
					delete(spec, from)
					spec[to] = value
				}
			}
		}
		for path, value := range c.Set[version] {
			set(object, strings.Split(path, "."), value)
		}
	}
	return map[string]any{"result": map[string]any{"status": "Success"}, "convertedObjects": objects[:max(0, len(objects)-c.Drop)]}
}

// set sets the value at a path of names, and makes the objects on the way.
func set(object map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, ok := object[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[name] = next
		}
		object = next
	}
	object[path[len(path)-1]] = value
}
