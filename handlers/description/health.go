package description

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/request"
)

// Check is one health check.
type Check struct {
	Name string
	// Group is the name of a check with which ?exclude= leaves out this one as well; it may be empty.
	Group string
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
		m.HandleFunc(path, h.serveHealth(name, checks, &failureLog{quietUntil: h.Now().Add(startupQuiet)}))
		m.HandleFunc(path+"/{check:.+}", h.serveCheck(checks))
		h.addToIndex(path)
		for _, c := range checks {
			h.addToIndex(path + "/" + c.Name)
		}
	}
}

// failureLog decides how the failures of one of the paths are logged. Probes come every few
// seconds, and all of them fail while the server starts.
type failureLog struct {
	// quietUntil is the time until which failures are those of a start, unless all checks
	// pass before.
	quietUntil time.Time

	mu      sync.Mutex // guards the fields below
	started bool       // all checks have passed once
	last    string     // the names of the failed checks in the last warning; empty once all pass
}

const (
	// startupQuiet is the time after which a server that still starts is worth a warning.
	startupQuiet = 30 * time.Second
	// maxLoggedChecks is the maximum number of checks in a record.
	maxLoggedChecks = 8
)

// levelOf returns the level at which a probe with these failed checks, of which there may be none,
// is logged: that of a warning if they differ from those of the previous probe.
func (l *failureLog) levelOf(failed []failure, now time.Time) slog.Level {
	var names strings.Builder
	for _, f := range failed {
		names.WriteString(f.check + ",")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = l.started || len(failed) == 0
	if !l.started && !now.After(l.quietUntil) || names.String() == l.last {
		return slog.LevelDebug
	}
	l.last = names.String()
	return slog.LevelWarn
}

// failure is a failed check.
type failure struct {
	check string
	err   error
}

// describeFailures returns the names and errors of the first of the failed checks.
func describeFailures(failed []failure) string {
	var out strings.Builder
	for i, f := range failed {
		if i == maxLoggedChecks {
			fmt.Fprintf(&out, "; %d more", len(failed)-i)
			break
		}
		if i > 0 {
			out.WriteString("; ")
		}
		fmt.Fprintf(&out, "%s: %v", f.check, f.err)
	}
	return out.String()
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
func (h *Handler) serveHealth(name string, checks []Check, failures *failureLog) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := request.From(r.Context()).Info.Query
		unknown := map[string]bool{}
		for _, name := range q["exclude"] {
			unknown[name] = true
		}
		excluded := maps.Clone(unknown)
		var out strings.Builder
		var failed []failure
		unlogged := false
		for _, c := range checks {
			if excluded[c.Name] {
				delete(unknown, c.Name)
				fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.Name)
				continue
			}
			if c.Group != "" && excluded[c.Group] {
				delete(unknown, c.Group)
				fmt.Fprintf(&out, "[+]%s excluded with %s: ok\n", c.Name, c.Group)
				continue
			}
			err := c.run(r.Context())
			h.slis.observe(name, c.Name, err)
			if err != nil {
				failed = append(failed, failure{c.Name, err})
				unlogged = unlogged || c.Unlogged
				fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.Name)
				continue
			}
			fmt.Fprintf(&out, "[+]%s ok\n", c.Name)
		}
		if len(unknown) > 0 {
			fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %s\n", quotedNames(unknown))
		}
		level := failures.levelOf(failed, h.Now())
		if len(failed) > 0 {
			if !unlogged {
				h.responder.RequestLogger(r).Log(r.Context(), level, "health check failed", "path", r.URL.Path, "checks", describeFailures(failed))
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
		if err := c.run(r.Context()); err != nil {
			if !c.Unlogged {
				h.responder.RequestLogger(r).Debug("health check failed", "path", r.URL.Path, "error", err)
			}
			http.Error(w, "internal server error: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "ok")
	}
}

func (c *Check) run(ctx context.Context) error {
	if c.Run == nil {
		return nil
	}
	return c.Run(ctx)
}
