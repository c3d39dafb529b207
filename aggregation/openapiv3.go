package aggregation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// openAPIV3Location is the name and URL of the OpenAPI v3 document of a group version, from
// the remote server's index.
type openAPIV3Location struct{ name, url string }

// fetchOpenAPIV3Location fetches the remote server's index of OpenAPI v3 documents. A server
// may have no document.
func (r *Remote) fetchOpenAPIV3Location(ctx context.Context) error {
	host, err := r.Host(ctx)
	if err != nil {
		return err
	}
	resp, body, err := r.read(ctx, aggregatorUser(), "https://"+host+"/openapi/v3", http.Header{"Accept": {"application/json"}})
	if err != nil {
		return err
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	switch resp.StatusCode {
	case http.StatusOK:
		if err := json.Unmarshal(body, &index); err != nil {
			return err
		}
	case http.StatusNotFound:
	default:
		return fmt.Errorf("failed to download the index of OpenAPI documents: %s", resp.Status)
	}
	name := strings.TrimPrefix(r.path(), "/")
	at, ok := index.Paths[name]
	if !ok {
		r.openAPIV3.Store(nil)
		return nil
	}
	r.openAPIV3.Store(&openAPIV3Location{name, at.ServerRelativeURL})
	return nil
}

// OpenAPIV3URLs returns the URLs of the remote servers' OpenAPI v3 documents by name.
func (s *Services) OpenAPIV3URLs() map[string]string {
	if s == nil {
		return nil
	}
	s.rlock()
	defer s.mu.RUnlock()
	all := map[string]string{}
	for _, r := range s.remotes {
		if at := r.openAPIV3.Load(); at != nil {
			all[at.name] = at.url
		}
	}
	return all
}

// RemoteWithOpenAPIV3 returns the remote server that has the OpenAPI v3 document with the
// name, or nil.
func (s *Services) RemoteWithOpenAPIV3(name string) *Remote {
	r := s.ForPath("/" + name)
	if r == nil {
		return nil
	}
	if at := r.openAPIV3.Load(); at == nil || at.name != name {
		return nil
	}
	return r
}
