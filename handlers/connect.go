package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/handlers/proxy"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

// forwardsAnyPath reports whether a subresource takes requests with any method and any path
// below it.
func forwardsAnyPath(s api.Subresource) bool {
	c, ok := s.(*api.Connection)
	return ok && c.Style == api.StyleProxy
}

// connect connects the client to a kubelet, a pod or a service.
func (h *Handler) connect(c *call, to *api.Connection) error {
	options, err := to.Options(c.info.Query, c.rest())
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	loc, err := h.Registry.Locate(c.r.Context(), c.Target, to, options, h.Kubelets, h.connectAuthorization(c, to))
	if err != nil {
		return err
	}
	if loc == nil {
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := h.Proxy.Check(c.r.Context(), loc); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	defer context.AfterFunc(h.shutdown.ending, cancel)()
	c.r = c.r.WithContext(ctx)
	defer h.metrics.countLongRunning(labelConnect, c.info)()
	clearDeadlines(c.w)
	if to.Style == api.StyleText {
		return h.serveText(c, to, loc, cancel)
	}
	fail := func(err error) { h.responder.WriteError(c.w, c.r, err) }
	translates := to.Style == api.StyleStreams && h.Gates.Enabled(features.TranslateStreamCloseWebsocketRequests) ||
		to.Style == api.StylePorts && h.Gates.Enabled(features.PortForwardWebsockets)
	if translates {
		h.metrics.streams.requested(to.Name, loc.WebSockets)
		translates = !loc.WebSockets
	}
	switch {
	case translates && to.Style == api.StyleStreams && proxy.WantsChannels(c.r):
		h.Proxy.Channels(c.w, c.r, loc, countCode(h.metrics.streams.translated))
	case translates && to.Style == api.StylePorts && proxy.WantsTunnel(c.r):
		h.Proxy.Tunnel(c.w, c.r, loc, countCode(h.metrics.streams.tunnelled), fail)
	case to.Style == api.StyleProxy || proxy.WantsUpgrade(c.r):
		h.Proxy.Forward(c.w, c.r, loc, to.Style == api.StyleProxy, fail)
	default:
		return apierrors.NewBadRequest("Upgrade request required")
	}
	return nil
}

// rest returns the path below the subresource, which is empty or begins with a slash. It is clean, as the
// path at the backend, so that admission sees the path that the backend gets.
func (c *call) rest() string {
	rest := strings.Join(c.info.Parts[3:], "/")
	if rest != "" {
		rest = "/" + rest
	}
	if strings.HasSuffix(c.info.Path, "/") && !strings.HasSuffix(rest, "/") {
		rest += "/"
	}
	return utilnet.JoinPreservingTrailingSlash("", rest)
}

// serveText copies the text response of a kubelet to the client, over a WebSocket if
// the client asks for one.
func (h *Handler) serveText(c *call, to *api.Connection, loc *api.Location, onClose context.CancelFunc) error {
	h.metrics.logs.requested(loc)
	body, err := h.Proxy.Open(c.r.Context(), loc, schema.GroupResource{Resource: c.Resource.Name + "/" + to.Name}, c.Name)
	if err != nil {
		h.metrics.logs.failed(err)
		return err
	}
	defer body.Close()
	if websocket.IsWebSocketUpgrade(c.r) {
		frames := representation.NewWebSocketFrames(c.w, c.r, h.RequestTimeout, representation.LogFraming(), onClose)
		if err := frames.Begin(""); err != nil {
			h.responder.RequestLogger(c.r).Debug("log was not begun", "error", err)
			return nil
		}
		defer frames.End()
		// An empty message confirms the connection.
		if err := frames.Event(nil); err == nil {
			err = proxy.Copy(frames.Event, body)
			h.responder.RequestLogger(c.r).Debug("log ended", "error", err)
		}
		return nil
	}
	c.w.Header().Set("Content-Type", "text/plain")
	c.w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(c.w)
	if err := out.Flush(); err != nil { // the headers do not wait for the text
		return nil
	}
	write := c.w.Write
	if loc.Follow {
		write = func(b []byte) (int, error) {
			n, err := c.w.Write(b)
			return n, errors.Join(err, out.Flush())
		}
	}
	err = proxy.Copy(func(b []byte) error { _, err := write(b); return err }, body)
	h.responder.RequestLogger(c.r).Debug("log ended", "error", err)
	return nil
}
