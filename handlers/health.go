package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gorilla/mux"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// healthRoutes adds /healthz, /livez, /readyz with a path for each check, and
// /version.
func (h *Handler) healthRoutes(m *mux.Router) {
	for path, belongs := range map[string]func(Check) bool{
		"/healthz": func(c Check) bool { return c.Health },
		"/livez":   func(c Check) bool { return c.Live },
		"/readyz":  func(c Check) bool { return c.Ready },
	} {
		checks := []Check{{Name: "ping"}}
		for _, c := range h.Checks {
			if belongs(c) {
				checks = append(checks, c)
			}
		}
		if path == "/readyz" {
			checks = append(checks, Check{Name: "shutdown", Run: func(context.Context) error { return h.shuttingDown() }})
		}
		m.HandleFunc(path, h.serveHealth(strings.TrimPrefix(path, "/"), checks))
		m.HandleFunc(path+"/", h.serveHealth(strings.TrimPrefix(path, "/"), checks))
		m.HandleFunc(path+"/{check:.+}", h.serveCheck(checks))
	}
	m.HandleFunc("/version", h.serveVersion).Methods(http.MethodGet)
	m.HandleFunc("/version/", h.serveVersion).Methods(http.MethodGet)
}

func (h *Handler) shuttingDown() error {
	if h.ending.Err() != nil {
		return errors.New("process is shutting down")
	}
	return nil
}

// serveHealth runs all checks but those that ?exclude= names. Only who asks for
// it, or has something wrong to be told, is told of each.
func (h *Handler) serveHealth(name string, checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		unknown := map[string]bool{}
		for _, name := range q["exclude"] {
			unknown[name] = true
		}
		excluded := maps.Clone(unknown)
		var out strings.Builder
		var failed []string
		for _, c := range checks {
			if excluded[c.Name] {
				delete(unknown, c.Name)
				fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.Name)
				continue
			}
			err := h.runCheck(r, c)
			h.slis.observe(name, c.Name, err)
			if err != nil {
				failed = append(failed, c.Name)
				fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.Name)
				continue
			}
			fmt.Fprintf(&out, "[+]%s ok\n", c.Name)
		}
		if len(unknown) > 0 {
			names := slices.Sorted(maps.Keys(unknown))
			for i := range names {
				names[i] = strconv.Quote(names[i])
			}
			fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(names, ","))
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case len(failed) > 0:
			h.logger(r).Warn("health check failed", "path", r.URL.Path, "checks", failed)
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, "%s%s check failed\n", out.String(), name)
		case q.Has("verbose"):
			fmt.Fprintf(w, "%s%s check passed\n", out.String(), name)
		default:
			fmt.Fprint(w, "ok")
		}
	}
}

// serveCheck runs one check.
func (h *Handler) serveCheck(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == mux.Vars(r)["check"] })
		if i < 0 {
			h.notFound(w, r)
			return
		}
		if err := h.runCheck(r, checks[i]); err != nil {
			http.Error(w, "internal server error: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		fmt.Fprint(w, "ok")
	}
}

func (h *Handler) runCheck(r *http.Request, c Check) error {
	if c.Run == nil {
		return nil
	}
	err := c.Run(r.Context())
	if err != nil {
		h.logger(r).Info("health check failed", "check", c.Name, "error", err)
	}
	return err
}

// serveVersion tells which server this is; in JSON only.
func (h *Handler) serveVersion(w http.ResponseWriter, r *http.Request) {
	if accept := r.Header.Get("Accept"); accept != "" && !acceptsJSON(accept) {
		h.fail(w, r, statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+mediaJSON, &metav1.StatusDetails{}))
		return
	}
	data, err := json.MarshalIndent(h.Version, "", "  ")
	if err != nil {
		h.fail(w, r, err)
		return
	}
	writeBody(w, http.StatusOK, mediaJSON, data)
}

func acceptsJSON(accept string) bool {
	for _, c := range parseAccept(accept) {
		if c.name == mediaJSON || c.name == "*/*" {
			return true
		}
	}
	return strings.TrimSpace(accept) == ""
}
