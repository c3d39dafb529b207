package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

// componentStatuses computes the ComponentStatus objects by health checks at the
// components' default ports on this machine.
type componentStatuses struct {
	parts []component
}

type component struct {
	name  string
	check func(context.Context) (string, error)
}

// newComponentStatuses checks each etcd through its store, and the scheduler and the controller
// manager at their health ports. A nil dial opens direct connections.
func newComponentStatuses(stores []*storage.Store, dial outbound.DialFunc) *componentStatuses {
	// Their certificates are self-signed. The requests and responses contain no secrets.
	transport := outbound.Transport(outbound.Config{TLS: &tls.Config{InsecureSkipVerify: true}, Dial: dial})
	transport.DisableKeepAlives = true
	client := outbound.Client(transport)
	client.Timeout = 2 * time.Second
	c := &componentStatuses{parts: []component{
		{"controller-manager", healthz(client, "https://127.0.0.1:10257/healthz")},
		{"scheduler", healthz(client, "https://127.0.0.1:10259/healthz")},
	}}
	for i, store := range stores {
		c.parts = append(c.parts, component{fmt.Sprintf("etcd-%d", i),
			func(ctx context.Context) (string, error) { return "ok", store.Healthy(ctx) }})
	}
	return c
}

func healthz(client *http.Client, url string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("unexpected status %s", resp.Status)
		}
		return string(body), err
	}
}

// Get implements registry.Source.
func (c *componentStatuses) Get(ctx context.Context, name string) (api.Object, error) {
	for _, p := range c.parts {
		if p.name == name {
			return p.status(ctx), nil
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("componentstatus"), name)
}

// List implements registry.Source.
func (c *componentStatuses) List(ctx context.Context, _ registry.ListOptions) ([]api.Object, error) {
	out := make([]api.Object, len(c.parts))
	for i, p := range c.parts {
		out[i] = p.status(ctx)
	}
	return out, nil
}

func (p component) status(ctx context.Context) api.Object {
	condition := corev1.ComponentCondition{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue}
	var err error
	if condition.Message, err = p.check(ctx); err != nil {
		condition.Status, condition.Message = corev1.ConditionFalse, err.Error()
	}
	return &corev1.ComponentStatus{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Conditions: []corev1.ComponentCondition{condition},
	}
}
