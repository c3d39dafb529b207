package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// ignoredFlag returns a flag that is accepted without an effect, with the reason.
func ignoredFlag(name string, v Value, note string) Flag {
	return Flag{Name: name, Value: v, Effect: Ignored, Note: note}
}

// refusedFlag returns a flag that must be empty, with the reason.
func refusedFlag(name string, field *[]string, note string) Flag {
	mustBeEmpty := func(given []string) error {
		for _, text := range given {
			if text != "" {
				return errors.New("is not supported: " + note)
			}
		}
		return nil
	}
	return Flag{Name: name, Value: typed("string", repeated(field, nil, mustBeEmpty)), Effect: Refused, Note: note}
}

// The fields of flags without an effect.
type unused struct{}

func (unused) text(initial string, checks ...func(string) error) Value {
	return text(new(string), initial, checks...)
}
func (unused) yes() Value { return inverted(new(bool)) }
func (unused) no() Value  { return boolean(new(bool)) }
func (unused) number(initial int, checks ...func(int) error) Value {
	return number(new(int), initial, checks...)
}
func (unused) duration(initial time.Duration) Value {
	return duration(new(time.Duration), initial, notNegative)
}

// ignoredFlags returns the flags of kube-apiserver that have no effect on this server.
// Each is parsed and checked as kube-apiserver does.
func ignoredFlags() []Flag {
	const (
		noPeers     = "this server forwards no requests to other API servers"
		noLogBuffer = "every log record is written at once, to stderr"
	)
	var u unused
	flags := []Flag{
		ignoredFlag("debug-socket-path", u.text(""), "profiles are served at /debug/pprof/ of the secure port only"),
		ignoredFlag("enable-garbage-collector", u.yes(), "the garbage collector is a controller, which --controllers turns off"),
		ignoredFlag("enable-logs-handler", u.no(), "this server serves no files"),
		ignoredFlag("etcd-count-metric-poll-period", u.duration(time.Minute), "the caches count objects at any time"),
		ignoredFlag("etcd-db-metric-poll-interval", u.duration(30*time.Second), "the size of the database is not polled"),
		ignoredFlag("lease-reuse-duration-seconds", u.number(60), "events share leases of a fixed granularity"),
		ignoredFlag("storage-backend", u.text("", storageBackend), "the store is always etcd"),
		ignoredFlag("peer-advertise-ip", u.text("", optionalIP), noPeers),
		ignoredFlag("peer-advertise-port", u.text("", optionalPort), noPeers),
		ignoredFlag("log-flush-frequency", u.duration(5*time.Second), noLogBuffer),
		ignoredFlag("log-json-info-buffer-size", typed("quantity", u.text("").(*value[string])), noLogBuffer),
		ignoredFlag("log-json-split-stream", u.no(), noLogBuffer),
		ignoredFlag("log-text-info-buffer-size", typed("quantity", u.text("").(*value[string])), noLogBuffer),
		ignoredFlag("log-text-split-stream", u.no(), noLogBuffer),
	}
	return append(flags, ignoredAuditFlags()...)
}

// refusedFlags returns the flags of kube-apiserver that ask for a protection, or for
// data at another place, that this server does not have.
func refusedFlags() []Flag {
	var all []Flag
	for _, f := range []struct{ name, note string }{
		{"egress-selector-config-file", "connections to nodes, webhooks and etcd would leave without the proxy that the file demands"},
		{"peer-ca-file", "this server does not connect to other API servers, and would not verify them by this CA"},
	} {
		all = append(all, refusedFlag(f.name, new([]string), f.note))
	}
	return all
}

// Checks of flags without an effect.

func optionalIP(text string) error {
	if text != "" && net.ParseIP(text) == nil {
		return fmt.Errorf("%q is not an IP address", text)
	}
	return nil
}

func optionalPort(text string) error {
	if n, err := strconv.ParseUint(text, 10, 16); text != "" && (err != nil || n == 0) {
		return fmt.Errorf("%q is not a port (1 to 65535)", text)
	}
	return nil
}

func storageBackend(text string) error {
	if text != "" && text != "etcd3" {
		return fmt.Errorf("%q is invalid, allowed values: etcd3", text)
	}
	return nil
}
