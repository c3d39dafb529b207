package aggregation

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// schemas are where the document of OpenAPI version 3 about a group version is,
// by the server that serves it.
type schemas struct{ name, url string }

// fetchSchemas finds out where a remote server has its document. One that has
// none of version 3 has none here.
func (r *Remote) fetchSchemas(ctx context.Context) error {
	host, err := r.Host(ctx)
	if err != nil {
		return err
	}
	answer, body, err := r.read(ctx, self(), "https://"+host+"/openapi/v3", http.Header{"Accept": {"application/json"}})
	if err != nil {
		return err
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	switch answer.StatusCode {
	case http.StatusOK:
		if err := json.Unmarshal(body, &index); err != nil {
			return err
		}
	case http.StatusNotFound:
	default:
		return fmt.Errorf("failed to download the index of OpenAPI documents: %s", answer.Status)
	}
	name := strings.TrimPrefix(r.path(), "/")
	at, ok := index.Paths[name]
	if !ok {
		r.schemas.Store(nil)
		return nil
	}
	r.schemas.Store(&schemas{name, at.ServerRelativeURL})
	return nil
}

// OpenAPI are the documents of version 3 that remote servers have: where they are,
// by their names.
func (s *Services) OpenAPI() map[string]string {
	if s == nil {
		return nil
	}
	s.rlock()
	defer s.mu.RUnlock()
	all := map[string]string{}
	for _, r := range s.remotes {
		if at := r.schemas.Load(); at != nil {
			all[at.name] = at.url
		}
	}
	return all
}

// OpenAPIAt is the remote server that has the document of a name; nil if none has.
func (s *Services) OpenAPIAt(name string) *Remote {
	r := s.At("/" + name)
	if r == nil {
		return nil
	}
	if at := r.schemas.Load(); at == nil || at.name != name {
		return nil
	}
	return r
}
