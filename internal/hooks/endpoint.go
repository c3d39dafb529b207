package hooks

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/internal/outbound"
)

// Endpoint is the address of a webhook, and the CA of its certificate.
type Endpoint struct {
	URL string
	// Host is the host with the port, by which credentials are looked up.
	Host string
	// Service is the service to resolve; nil if the host is an ordinary one.
	Service *outbound.Service
	CA      string
	// Err is the error of an invalid configuration, returned when the webhook is called.
	Err error
}

const httpsPort = 443

// ParseEndpoint returns the endpoint of a webhook configuration.
func ParseEndpoint(c *admissionv1.WebhookClientConfig) Endpoint {
	e := Endpoint{CA: string(c.CABundle)}
	switch {
	case c.Service != nil:
		s := &outbound.Service{Namespace: c.Service.Namespace, Name: c.Service.Name, Port: httpsPort}
		if c.Service.Port != nil {
			s.Port = *c.Service.Port
		}
		p := "/"
		if c.Service.Path != nil {
			p = path.Join(p, *c.Service.Path)
		}
		e.Service, e.Host = s, net.JoinHostPort(s.ServerName(), strconv.Itoa(int(s.Port)))
		e.URL = (&url.URL{Scheme: "https", Host: e.Host, Path: p}).String()
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil {
			//lint:ignore ST1005 kube-apiserver's words
			e.Err = fmt.Errorf("Unparsable URL: %w", err)
			return e
		}
		e.Host = u.Host
		if u.Port() == "" {
			e.Host = net.JoinHostPort(u.Host, strconv.Itoa(httpsPort))
		}
		e.URL = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path.Join("/", u.Path)}).String()
	default:
		e.Err = fmt.Errorf("webhook configuration must have either service or URL")
	}
	return e
}
