package description

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/request"
)

// Check is one health check.
type Check struct {
	Name string
	// Run returns nil if the check passes. The error is shown in the log and to users
	// who may read the path of the check, never to anonymous clients.
	Run func(ctx context.Context) error
	// Ready, Live and Health report whether /readyz, /livez and /healthz include the
	// check.
	Ready, Live, Health bool
	// Unlogged suppresses the log record of a failure: the check is that of the log.
	Unlogged bool
	// Boot marks a step of startup, to which the grace period of /livez applies.
	Boot bool
}

// healthRoutes adds /healthz, /livez and /readyz, with a path for each check.
func (h *Handler) healthRoutes(m *mux.Router) {
	for name, belongs := range map[string]func(Check) bool{
		"healthz": func(c Check) bool { return c.Health },
		"livez":   func(c Check) bool { return c.Live },
		"readyz":  func(c Check) bool { return c.Ready },
	} {
		checks := []Check{{Name: "ping"}}
		for _, c := range h.Checks {
			if belongs(c) {
				checks = append(checks, c)
			}
		}
		switch name {
		case "livez":
			h.delayBootChecks(checks)
		case "readyz":
			checks = append(checks, Check{Name: "shutdown", Run: func(context.Context) error { return h.checkShutdown() }})
		}
		path := "/" + name
		m.HandleFunc(path, h.serveHealth(name, checks))
		m.HandleFunc(path+"/{check:.+}", h.serveCheck(checks))
		h.addToIndex(path)
		for _, c := range checks {
			h.addToIndex(path + "/" + c.Name)
		}
	}
}

// delayBootChecks makes boot checks pass until the grace period of /livez is over, so
// that a slow start does not cause a restart.
func (h *Handler) delayBootChecks(checks []Check) {
	if h.LivezGracePeriod <= 0 {
		return
	}
	until := h.Now().Add(h.LivezGracePeriod)
	for i, c := range checks {
		if !c.Boot || c.Run == nil {
			continue
		}
		checks[i].Run = func(ctx context.Context) error {
			if !h.Now().After(until) {
				return nil
			}
			return c.Run(ctx)
		}
	}
}

func (h *Handler) checkShutdown() error {
	if h.ShuttingDown != nil && h.ShuttingDown() {
		return errors.New("process is shutting down")
	}
	return nil
}

// serveHealth runs all checks except those in ?exclude=. The response lists the checks
// if the client asks for it or if a check fails.
func (h *Handler) serveHealth(name string, checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := request.From(r.Context()).Info.Query
		unknown := map[string]bool{}
		for _, name := range q["exclude"] {
			unknown[name] = true
		}
		excluded := maps.Clone(unknown)
		var out strings.Builder
		var failed []string
		unlogged := false
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
				unlogged = unlogged || c.Unlogged
				fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.Name)
				continue
			}
			fmt.Fprintf(&out, "[+]%s ok\n", c.Name)
		}
		if len(unknown) > 0 {
			fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n", quotedNames(unknown))
		}
		if len(failed) > 0 {
			if !unlogged {
				h.responder.RequestLogger(r).Warn("health check failed", "path", r.URL.Path, "checks", failed)
			}
			http.Error(w, out.String()+name+" check failed", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !q.Has("verbose") {
			fmt.Fprint(w, "ok")
			return
		}
		fmt.Fprintf(w, "%s%s check passed\n", out.String(), name)
	}
}

func quotedNames(set map[string]bool) string {
	names := slices.Sorted(maps.Keys(set))
	for i := range names {
		names[i] = strconv.Quote(names[i])
	}
	return strings.Join(names, ",")
}

// serveCheck runs the check in the path. A user who may read this path may see the
// error of a failed check.
func (h *Handler) serveCheck(checks []Check) http.HandlerFunc {
	byName := make(map[string]Check, len(checks))
	for _, c := range checks {
		byName[c.Name] = c
	}
	return func(w http.ResponseWriter, r *http.Request) {
		c, ok := byName[mux.Vars(r)["check"]]
		if !ok {
			representation.ServeNotFound(w, r)
			return
		}
		if err := h.runCheck(r, c); err != nil {
			http.Error(w, "internal server error: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "ok")
	}
}

func (h *Handler) runCheck(r *http.Request, c Check) error {
	if c.Run == nil {
		return nil
	}
	err := c.Run(r.Context())
	if err != nil && !c.Unlogged {
		h.responder.RequestLogger(r).Info("health check failed", "check", c.Name, "error", err)
	}
	return err
}
