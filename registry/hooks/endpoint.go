// Package hooks calls webhooks: it knows where they are, by whom they are
// certified and what the server shows to them. What they are asked is the affair
// of those who ask: admission about writes, and controllers about other versions
// of objects.
package hooks

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapiserver/miniapiserver/registry/services"
)

// Endpoint is where a hook is asked, and by whom it is certified.
type Endpoint struct {
	URL string
	// Host is that of the credentials: with the port.
	Host string
	// Service is set where the host is to be looked up as one.
	Service *services.Reference
	CA      string
	Err     error
}

const httpsPort = 443

// ParseEndpoint is where a configuration leads.
func ParseEndpoint(c *admissionv1.WebhookClientConfig) Endpoint {
	e := Endpoint{CA: string(c.CABundle)}
	switch {
	case c.Service != nil:
		s := &services.Reference{Namespace: c.Service.Namespace, Name: c.Service.Name, Port: httpsPort}
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
