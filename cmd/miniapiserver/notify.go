package main

import (
	"log/slog"

	"github.com/coreos/go-systemd/v22/daemon"
)

// notifySystemd tells systemd the state of a service of Type=notify: daemon.SdNotifyReady or daemon.SdNotifyStopping.
// Without systemd it does nothing.
func notifySystemd(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd cannot be told of the state of the server", "state", state, "error", err)
	}
}
