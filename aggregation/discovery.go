package aggregation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/internal/bounds"
	"github.com/miniapiserver/miniapiserver/internal/outbound"
	"github.com/miniapiserver/miniapiserver/request"
)

// maxDocument is the maximum size of a remote server's document.
const maxDocument = 16 << 20

// discoveryTypes are the media types of aggregated discovery.
const discoveryTypes = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

// DiscoveryDocument is a remote server's discovery document of a group version.
type DiscoveryDocument struct {
	v2.APIVersionDiscovery
	// etag is the ETag of the response that had the document.
	etag string
}

// Fetch fetches the discovery and OpenAPI v3 documents of a remote server. If it fails, the
// previous discovery document stays and is marked as stale.
func (s *Services) Fetch(ctx context.Context, r *Remote) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := s.fetchDocument(ctx, r); err != nil {
		return err
	}
	return r.fetchOpenAPIV3Location(ctx)
}

func (s *Services) fetchDocument(ctx context.Context, r *Remote) error {
	was := r.document.Load()
	is, err := r.fetch(ctx, was)
	if err != nil {
		is = &DiscoveryDocument{APIVersionDiscovery: v2.APIVersionDiscovery{Version: r.Version}}
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

func sameDocument(a, b *DiscoveryDocument) bool {
	one, _ := json.Marshal(a) // decoded JSON can be encoded
	other, _ := json.Marshal(b)
	return string(one) == string(other) && a.etag == b.etag
}

// fetch requests aggregated discovery and, if the server does not support it, the discovery
// document of the group version.
func (r *Remote) fetch(ctx context.Context, was *DiscoveryDocument) (*DiscoveryDocument, error) {
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
	resp, body, err := r.read(ctx, aggregatorUser(), "https://"+host+"/apis", header)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusNotModified && was != nil:
		return was, nil
	case resp.StatusCode == http.StatusServiceUnavailable:
		return nil, fmt.Errorf("service %s/%s:%d returned non-success response code: %d", r.Service.Namespace,
			r.Service.Name, r.Service.Port, resp.StatusCode)
	case resp.StatusCode == http.StatusOK && isAggregated(resp.Header.Get("Content-Type")):
		return r.findVersion(body, resp.Header.Get("Etag"))
	}
	resp, body, err = r.read(ctx, aggregatorUser(), "https://"+host+r.path(), http.Header{"Accept": {"application/json"}})
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("failed to download legacy discovery for %s: %s", r.path(), resp.Status)
	}
	if err != nil {
		return nil, err
	}
	return r.convertAPIResourceList(body)
}

func (r *Remote) read(ctx context.Context, as *request.User, url string, header http.Header) (*http.Response, []byte, error) {
	resp, err := r.get(ctx, r.peerCertificates.InstrumentTransport(r.plain), as, url, header)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := outbound.ReadAll(resp.Body, maxDocument)
	if errors.Is(err, outbound.ErrTooLarge) {
		err = fmt.Errorf("%s has more than %d bytes", url, maxDocument)
	}
	if err == nil {
		if err = bounds.Depth(body); err != nil {
			err = fmt.Errorf("%s: %w", url, err)
		}
	}
	return resp, body, err
}

func isAggregated(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json" && params["g"] == "apidiscovery.k8s.io" &&
		params["as"] == "APIGroupDiscoveryList" && (params["v"] == "v2" || params["v"] == "v2beta1")
}

// findVersion returns the group version from aggregated discovery. If the server does not
// serve it, the document has no kinds.
func (r *Remote) findVersion(body []byte, etag string) (*DiscoveryDocument, error) {
	var list v2.APIGroupDiscoveryList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	out := &DiscoveryDocument{APIVersionDiscovery: v2.APIVersionDiscovery{Version: r.Version}, etag: etag}
	for _, g := range list.Items {
		for _, v := range g.Versions {
			if g.Name == r.Group && v.Version == r.Version {
				out.APIVersionDiscovery = v
			}
		}
	}
	out.Freshness = v2.DiscoveryFreshnessCurrent
	for i := range out.Resources {
		setMissingKind(&out.Resources[i].ResponseKind)
		for j := range out.Resources[i].Subresources {
			setMissingKind(&out.Resources[i].Subresources[j].ResponseKind)
		}
	}
	return out, nil
}

// setMissingKind sets a missing kind to an empty one, because some clients fail without it.
func setMissingKind(kind **metav1.GroupVersionKind) {
	if *kind == nil {
		*kind = &metav1.GroupVersionKind{}
	}
}

// convertAPIResourceList converts an APIResourceList to aggregated discovery.
func (r *Remote) convertAPIResourceList(body []byte) (*DiscoveryDocument, error) {
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if list.Kind != "APIResourceList" {
		return nil, errors.New("response is not an APIResourceList")
	}
	out := &DiscoveryDocument{APIVersionDiscovery: v2.APIVersionDiscovery{Version: r.Version, Freshness: v2.DiscoveryFreshnessCurrent}}
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
		if d.ResponseKind == nil { // listed before its resource, or without it
			d.Scope, d.ResponseKind = scope, &metav1.GroupVersionKind{}
		}
		d.Subresources = append(d.Subresources, v2.APISubresourceDiscovery{Subresource: sub, ResponseKind: kind, Verbs: line.Verbs})
	}
	return out, nil
}
