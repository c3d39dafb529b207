package aggregation

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/miniapiserver/miniapiserver/openapi"
	"github.com/miniapiserver/miniapiserver/request"
)

// swaggerTimeout bounds how long a remote server may take to write its document.
const swaggerTimeout = time.Minute

// ErrNoSwagger says that a remote server has no document of OpenAPI version 2.
var ErrNoSwagger = errors.New("the server has no document of OpenAPI version 2")

// swagger is what a remote server's document of OpenAPI version 2 says of its
// group version.
type swagger struct {
	content []byte
	// etag is the server's name for the document.
	etag string
}

// FetchSwagger asks a remote server for its document of OpenAPI version 2. If it
// gives none that can be understood, the one that it gave before stays.
func (r *Remote) FetchSwagger(ctx context.Context) error {
	if r.err != nil {
		return r.err
	}
	ctx, cancel := context.WithTimeout(ctx, swaggerTimeout)
	defer cancel()
	host, err := r.Host(ctx)
	if err != nil {
		return err
	}
	was := r.swagger.Load()
	header := http.Header{"Accept": {"application/json"}}
	if was != nil && was.etag != "" {
		header.Set("If-None-Match", was.etag)
	}
	answer, body, err := r.read(ctx, &request.User{Name: "system:aggregator"}, "https://"+host+"/openapi/v2", header)
	if err != nil {
		return err
	}
	switch answer.StatusCode {
	case http.StatusNotModified:
		return nil
	case http.StatusNotFound:
		return ErrNoSwagger
	case http.StatusOK:
	default:
		return fmt.Errorf("failed to retrieve openAPI spec, http error: %s", answer.Status)
	}
	is := &swagger{etag: answer.Header.Get("Etag")}
	if is.content, err = openapi.Cut(body, r.path()+"/"); err != nil {
		return fmt.Errorf("OpenAPI document of %s: %w", r.Name, err)
	}
	if was != nil && bytes.Equal(was.content, is.content) {
		is.content = was.content // which is compared quickly with itself
	}
	r.swagger.Store(is)
	return nil
}

// Swagger is what remote servers told of themselves with OpenAPI version 2, those
// first that have precedence.
func (s *Services) Swagger() [][]byte {
	if s == nil {
		return nil
	}
	s.rlock()
	var remotes []*Remote
	highest := map[string]int32{}
	for _, r := range s.remotes {
		highest[r.Group] = max(highest[r.Group], r.Priority.Group)
		if r.swagger.Load() != nil {
			remotes = append(remotes, r)
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(remotes, func(a, b *Remote) int {
		return cmp.Or(cmp.Compare(highest[b.Group], highest[a.Group]), cmp.Compare(a.Group, b.Group),
			cmp.Compare(b.Priority.Version, a.Priority.Version), cmp.Compare(a.Name, b.Name))
	})
	var all [][]byte
	for _, r := range remotes {
		all = append(all, r.swagger.Load().content)
	}
	return all
}
