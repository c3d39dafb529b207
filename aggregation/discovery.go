package aggregation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/request"
)

// maxDocument bounds what is read of a remote server's discovery.
const maxDocument = 16 << 20

// discoveryTypes are how a remote server may tell of all that it serves at once.
const discoveryTypes = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

// Document is what a remote server told of a group version.
type Document struct {
	v2.APIVersionDiscovery
	// etag is the server's name for the answer that it was a part of.
	etag string
}

// Fetch asks a remote server what it serves. If it does not tell, what it told
// before stays, and is said to be stale.
func (s *Services) Fetch(ctx context.Context, r *Remote) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := s.fetchDocument(ctx, r); err != nil {
		return err
	}
	return r.fetchSchemas(ctx)
}

func (s *Services) fetchDocument(ctx context.Context, r *Remote) error {
	was := r.document.Load()
	is, err := r.fetch(ctx, was)
	if err != nil {
		is = &Document{APIVersionDiscovery: v2.APIVersionDiscovery{Version: r.Version}}
		if was != nil {
			*is = *was
		}
		is.Freshness = v2.DiscoveryFreshnessStale
	}
	if was != nil && sameDocument(was, is) {
		return err
	}
	r.document.Store(is)
	s.mu.Lock()
	s.changes++
	s.mu.Unlock()
	return err
}

func sameDocument(a, b *Document) bool {
	one, _ := json.Marshal(a) // what was read can be written
	other, _ := json.Marshal(b)
	return string(one) == string(other) && a.etag == b.etag
}

// fetch asks for all that the server serves, and else for the group version.
func (r *Remote) fetch(ctx context.Context, was *Document) (*Document, error) {
	if r.err != nil {
		return nil, r.err
	}
	host, err := r.Host(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Accept": {discoveryTypes}}
	if was != nil && was.etag != "" && was.Freshness == v2.DiscoveryFreshnessCurrent {
		header.Set("If-None-Match", was.etag)
	}
	answer, body, err := r.read(ctx, self(), "https://"+host+"/apis", header)
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusNotModified && was != nil:
		return was, nil
	case answer.StatusCode == http.StatusServiceUnavailable:
		return nil, fmt.Errorf("service %s/%s:%d returned non-success response code: %d", r.To.Namespace, r.To.Name, r.To.Port, answer.StatusCode)
	case answer.StatusCode == http.StatusOK && isAggregated(answer.Header.Get("Content-Type")):
		return r.pick(body, answer.Header.Get("Etag"))
	}
	answer, body, err = r.read(ctx, self(), "https://"+host+r.path(), http.Header{"Accept": {"application/json"}})
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("failed to download legacy discovery for %s: %s", r.path(), answer.Status)
	}
	if err != nil {
		return nil, err
	}
	return r.convert(body)
}

func (r *Remote) read(ctx context.Context, as *request.User, url string, header http.Header) (*http.Response, []byte, error) {
	answer, err := r.get(ctx, r.shown.Watch(r.plain), as, url, header)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	if err == nil && len(body) > maxDocument {
		err = fmt.Errorf("%s has more than %d bytes", url, maxDocument)
	}
	return answer, body, err
}

func isAggregated(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json" && params["g"] == "apidiscovery.k8s.io" &&
		params["as"] == "APIGroupDiscoveryList" && (params["v"] == "v2" || params["v"] == "v2beta1")
}

// pick finds the group version in all that the server tells of. One that it does
// not serve after all has no kinds.
func (r *Remote) pick(body []byte, etag string) (*Document, error) {
	var list v2.APIGroupDiscoveryList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	out := &Document{APIVersionDiscovery: v2.APIVersionDiscovery{Version: r.Version}, etag: etag}
	for _, g := range list.Items {
		for _, v := range g.Versions {
			if g.Name == r.Group && v.Version == r.Version {
				out.APIVersionDiscovery = v
			}
		}
	}
	out.Freshness = v2.DiscoveryFreshnessCurrent
	for i := range out.Resources {
		fill(&out.Resources[i].ResponseKind)
		for j := range out.Resources[i].Subresources {
			fill(&out.Resources[i].Subresources[j].ResponseKind)
		}
	}
	return out, nil
}

// fill has a kind be there, without which some clients fail.
func fill(kind **metav1.GroupVersionKind) {
	if *kind == nil {
		*kind = &metav1.GroupVersionKind{}
	}
}

// convert makes of the older form of discovery, which has a line for each
// resource and subresource, the newer.
func (r *Remote) convert(body []byte) (*Document, error) {
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if list.Kind != "APIResourceList" {
		return nil, errors.New("the answer is no APIResourceList")
	}
	out := &Document{APIVersionDiscovery: v2.APIVersionDiscovery{Version: r.Version, Freshness: v2.DiscoveryFreshnessCurrent}}
	at := map[string]int{}
	resource := func(name string) *v2.APIResourceDiscovery {
		i, ok := at[name]
		if !ok {
			i = len(out.Resources)
			at[name] = i
			out.Resources = append(out.Resources, v2.APIResourceDiscovery{Resource: name})
		}
		return &out.Resources[i]
	}
	for _, line := range list.APIResources {
		scope := v2.ScopeCluster
		if line.Namespaced {
			scope = v2.ScopeNamespace
		}
		kind := &metav1.GroupVersionKind{Group: line.Group, Version: line.Version, Kind: line.Kind}
		name, sub, isSub := strings.Cut(line.Name, "/")
		d := resource(name)
		if !isSub {
			subresources := d.Subresources
			*d = v2.APIResourceDiscovery{
				Resource: name, SingularResource: line.SingularName, Scope: scope, ResponseKind: kind,
				Verbs: line.Verbs, ShortNames: line.ShortNames, Categories: line.Categories, Subresources: subresources,
			}
			continue
		}
		if d.ResponseKind == nil { // told of before what it belongs to, or without it
			d.Scope, d.ResponseKind = scope, &metav1.GroupVersionKind{}
		}
		d.Subresources = append(d.Subresources, v2.APISubresourceDiscovery{Subresource: sub, ResponseKind: kind, Verbs: line.Verbs})
	}
	return out, nil
}
