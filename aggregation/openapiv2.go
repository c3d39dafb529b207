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

// openAPIV2Timeout is the maximum time for fetching a remote server's document.
const openAPIV2Timeout = time.Minute

// ErrNoOpenAPIV2 means that a remote server has no OpenAPI v2 document.
var ErrNoOpenAPIV2 = errors.New("the server has no OpenAPI v2 document")

// openAPIV2Document is the part of a remote server's OpenAPI v2 document that describes its
// group version.
type openAPIV2Document struct {
	content []byte
	// etag is the ETag of the document.
	etag string
}

// FetchOpenAPIV2 fetches a remote server's OpenAPI v2 document. If it fails, the previous
// document stays.
func (r *Remote) FetchOpenAPIV2(ctx context.Context) error {
	if r.err != nil {
		return r.err
	}
	ctx, cancel := context.WithTimeout(ctx, openAPIV2Timeout)
	defer cancel()
	host, err := r.Host(ctx)
	if err != nil {
		return err
	}
	was := r.openAPIV2.Load()
	header := http.Header{"Accept": {"application/json"}}
	if was != nil && was.etag != "" {
		header.Set("If-None-Match", was.etag)
	}
	resp, body, err := r.read(ctx, &request.User{Name: "system:aggregator"}, "https://"+host+"/openapi/v2", header)
	if err != nil {
		return err
	}
	switch resp.StatusCode {
	case http.StatusNotModified:
		return nil
	case http.StatusNotFound:
		return ErrNoOpenAPIV2
	case http.StatusOK:
	default:
		return fmt.Errorf("failed to retrieve openAPI spec, http error: %s", resp.Status)
	}
	is := &openAPIV2Document{etag: resp.Header.Get("Etag")}
	if is.content, err = openapi.FilterPaths(body, r.path()+"/"); err != nil {
		return fmt.Errorf("OpenAPI document of %s: %w", r.Name, err)
	}
	if was != nil && bytes.Equal(was.content, is.content) {
		is.content = was.content // so that later comparisons are by pointer
	}
	r.openAPIV2.Store(is)
	return nil
}

// OpenAPIV2 returns the OpenAPI v2 documents of remote servers, in order of precedence.
func (s *Services) OpenAPIV2() [][]byte {
	if s == nil {
		return nil
	}
	s.rlock()
	var remotes []*Remote
	highest := map[string]int32{}
	for _, r := range s.remotes {
		highest[r.Group] = max(highest[r.Group], r.Priority.Group)
		if r.openAPIV2.Load() != nil {
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
		all = append(all, r.openAPIV2.Load().content)
	}
	return all
}
