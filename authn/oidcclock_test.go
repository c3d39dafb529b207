package authn

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestOIDCClock checks that tokens expire by the clock, and with a configuration that was read again too.
func TestOIDCClock(t *testing.T) {
	p := newProvider(t)
	config, data, err := ReadConfig(writeFile(t, p.config(subIsName)))
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewJWTIssuers(config, "", data, Restrictions{}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var ahead atomic.Int64
	o.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	runIssuers(t, o)
	o.awaitDiscovery(t.Context(), o.current.Load())
	token := p.token(t, map[string]any{"exp": time.Now().Add(48 * time.Hour).Unix()})
	check := func(text string) {
		t.Helper()
		_, ok, err := o.AuthenticateToken(t.Context(), token)
		if ok != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, %v", ok, err)
		}
	}
	ahead.Store(int64(47 * time.Hour))
	check("")
	ahead.Store(int64(49 * time.Hour))
	check("expired")
	again, err := o.build(config)
	if err != nil || again.all[0].now().Before(time.Now().Add(time.Hour)) {
		t.Errorf("a configuration that is read again has another clock: %v", err)
	}
}
