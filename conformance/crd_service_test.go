package conformance

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/server"
)

// TestConversionService checks that a conversion webhook given by service is called at its endpoint
// and verified as <service>.<namespace>.svc.
func TestConversionService(t *testing.T) {
	hook := &converter{}
	var path, host string
	hook.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hook.mu.Lock()
		path, host = r.URL.Path, r.Host
		hook.mu.Unlock()
		hook.serve(w, r)
	}))
	certificate, ca := selfSigned(t, "converter.default.svc")
	_, stranger := selfSigned(t, "converter.default.svc")
	hook.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	hook.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // hides errors of connections that the test rejects
	hook.StartTLS()
	t.Cleanup(hook.Close)
	srv, client := startWith(t, server.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == sampleIP+":9443" {
			address = hook.Listener.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	c := dynamic.NewForConfigOrDie(srv.RESTConfig())
	d := hook.paints("v1", "v1")
	lead := func(ca []byte, service string) map[string]any {
		return map[string]any{"caBundle": ca, "service": map[string]any{"namespace": "default", "name": service, "path": "/to/convert", "port": int64(8443)}}
	}
	if err := setJSON(d, lead(ca, "converter"), "spec", "conversion", "webhook", "clientConfig"); err != nil {
		t.Fatal(err)
	}
	define(t, c, d)
	v1, v2 := paintsIn(c)
	if _, err := v1.Create(t.Context(), paint("v1", "a", "red"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused := func(want string) {
		t.Helper()
		eventually(t, want, func(ctx context.Context) (bool, error) {
			_, err := v2.Get(ctx, "a", metav1.GetOptions{})
			if err == nil || !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "conversion webhook for art.example.com/v1, Kind=Paint failed: Post \"https://") {
				return false, err
			}
			return strings.Contains(err.Error(), want), nil
		})
	}
	refused(`service "converter" not found`)
	name, port := "convert", int32(9443)
	if _, err := client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "converter"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: name, Port: 8443}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "converter", Labels: map[string]string{discoveryv1.LabelServiceName: "converter"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{sampleIP}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	converted := func() {
		t.Helper()
		eventually(t, "converted", func(ctx context.Context) (bool, error) {
			u, err := v2.Get(ctx, "a", metav1.GetOptions{})
			return err == nil && colorOf(u) == "red", nil
		})
	}
	converted()
	hook.mu.Lock()
	if path != "/to/convert" || host != "converter.default.svc:8443" {
		t.Errorf("%s was asked at %s", host, path)
	}
	hook.mu.Unlock()
	// Only the CA bundle of the definition is trusted.
	change(t, c, d.GetName(), func(u *unstructured.Unstructured) error {
		return setJSON(u, lead(stranger, "converter"), "spec", "conversion", "webhook", "clientConfig")
	})
	refused("x509: certificate signed by unknown authority")
	change(t, c, d.GetName(), func(u *unstructured.Unstructured) error {
		return setJSON(u, lead(ca, "other"), "spec", "conversion", "webhook", "clientConfig")
	})
	refused(`service "other" not found`)
	change(t, c, d.GetName(), func(u *unstructured.Unstructured) error {
		return setJSON(u, lead(ca, "converter"), "spec", "conversion", "webhook", "clientConfig")
	})
	converted()
}

// setJSON sets a value by its JSON form.
func setJSON(u *unstructured.Unstructured, value any, path ...string) error {
	m := map[string]any{}
	for k, v := range value.(map[string]any) {
		if b, ok := v.([]byte); ok {
			v = base64.StdEncoding.EncodeToString(b)
		}
		m[k] = v
	}
	return unstructured.SetNestedMap(u.Object, m, path...)
}

// change updates a definition.
func change(t *testing.T, c dynamic.Interface, name string, change func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	t.Helper()
	var out *unstructured.Unstructured
	eventually(t, "changed", func(ctx context.Context) (bool, error) {
		u, err := c.Resource(definitionResource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if err := change(u); err != nil {
			return false, err
		}
		out, err = c.Resource(definitionResource).Update(ctx, u, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return false, nil
		}
		return err == nil, err
	})
	return out
}
