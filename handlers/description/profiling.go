package description

import (
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
)

// profilingRoutes adds the profiles of the process. As in kube-apiserver, there is no cmdline: the
// command line can contain addresses and files that a reader of profiles need not see.
func (h *Handler) profilingRoutes(m *mux.Router) {
	if h.NoProfiling {
		return
	}
	const root = "/debug/pprof"
	m.HandleFunc(root, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, root+"/", http.StatusFound)
	})
	m.HandleFunc(root+"/profile", pprof.Profile)
	m.HandleFunc(root+"/symbol", pprof.Symbol)
	m.HandleFunc(root+"/trace", pprof.Trace)
	m.PathPrefix(root + "/").HandlerFunc(pprof.Index)
	if h.SetVerbosity != nil {
		h.debugFlagRoutes(m)
	}
}

// debugFlagRoutes adds the flags that can be changed while the server runs.
func (h *Handler) debugFlagRoutes(m *mux.Router) {
	const root = "/debug/flags"
	m.HandleFunc(root+"/v", h.serveVerbosity)
	index := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, debugFlagsPage) // a client that has gone needs no response
	}
	m.HandleFunc(root, index)
	m.PathPrefix(root + "/").HandlerFunc(index)
}

// debugFlagsPage lists the flags that can be changed, as kube-apiserver's page does.
const debugFlagsPage = `<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>
<tr>v<br>
</table>
<br>
full flags configurable<br>
</body>
</html>
`

// serveVerbosity sets the verbosity of the log to the body of a PUT.
func (h *Handler) serveVerbosity(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		writeText(w, http.StatusNotAcceptable, "unsupported http method")
		return
	}
	const maxSize = 64 // bytes, more than any number has
	body, err := representation.ReadBody(w, r)
	if err != nil || len(body) > maxSize {
		writeText(w, http.StatusBadRequest, "error reading request body")
		return
	}
	verbosity, err := strconv.ParseUint(string(body), 10, 31)
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error())
		return
	}
	h.SetVerbosity(int(verbosity))
	writeText(w, http.StatusOK, fmt.Sprintf("successfully set klog.logging.verbosity to %s", body))
}

// writeText writes a line of text as the response. It is no HTML, whatever it contains.
func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.Copy(w, strings.NewReader(text+"\n")) // a client that has gone needs no response
}
