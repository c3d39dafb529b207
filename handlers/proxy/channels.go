package proxy

import (
	"net/http"
	"slices"

	"github.com/gorilla/websocket"
)

// channelProtocol is that of streams over one WebSocket whose messages begin with
// the number of a stream, and of which each can be closed by itself.
const channelProtocol = "v5.channel.k8s.io"

// WantsChannels tells of WebSockets that carry the streams of a process in a way
// that kubelets need not know.
func WantsChannels(r *http.Request) bool {
	return websocket.IsWebSocketUpgrade(r) && slices.Contains(websocket.Subprotocols(r), channelProtocol)
}
