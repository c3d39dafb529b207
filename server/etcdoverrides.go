package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/handlers/description"
	"github.com/miniapiserver/miniapiserver/storage"
)

// Resources of --etcd-servers-overrides have a store of their own, for each other etcd. The
// revisions of an etcd are the resource versions of its resources; no part of the server
// compares those of two resources.

// etcdOverride is an element of --etcd-servers-overrides.
type etcdOverride struct {
	resource schema.GroupResource // Resource may be allResources
	servers  []string
}

// allResources stands for all resources of a group.
const allResources = "*"

func parseEtcdOverrides(list []string) ([]etcdOverride, error) {
	invalid := errors.New("invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated")
	var all []etcdOverride
	for _, element := range list {
		name, urls, ok := strings.Cut(element, "#")
		group, resource, hasGroup := strings.Cut(name, "/")
		servers := strings.Split(urls, ";")
		if !ok || !hasGroup || strings.Contains(resource, "/") || strings.Contains(urls, "#") || slices.Contains(servers, "") {
			return nil, invalid
		}
		all = append(all, etcdOverride{schema.GroupResource{Group: group, Resource: resource}, servers})
	}
	return all, nil
}

func etcdServersOverrides(list []string) error {
	overrides, err := parseEtcdOverrides(list)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range overrides {
		errs = append(errs, etcdURLs(o.servers))
	}
	return errors.Join(errs...)
}

// openOtherStores creates the stores of --etcd-servers-overrides, one for each other etcd.
func (p *builder) openOtherStores() error {
	overrides, err := parseEtcdOverrides(p.o.Etcd.ServersOverrides)
	if err != nil {
		return fmt.Errorf("--etcd-servers-overrides: %w", err)
	}
	p.otherStores = map[schema.GroupResource]*storage.Store{}
	stores := map[string]*storage.Store{}
	for _, o := range overrides {
		moved := p.movedBy(o, overrides)
		if len(moved) == 0 {
			p.logger.Warn("an override names no resource that can be stored elsewhere",
				"flag", "--etcd-servers-overrides", "group", o.resource.Group, "resource", o.resource.Resource)
			continue
		}
		id := strings.Join(slices.Sorted(slices.Values(o.servers)), ";")
		if stores[id] == nil {
			stores[id] = storage.NewStore(p.etcdOptions(o.servers))
			p.others = append(p.others, stores[id])
		}
		for _, gr := range moved {
			p.otherStores[gr] = stores[id]
		}
	}
	return nil
}

// groupsNeverMoved are the groups of CustomResourceDefinitions and APIServices.
func groupsNeverMoved() []string { return []string{"apiextensions.k8s.io", "apiregistration.k8s.io"} }

// movedBy returns the resources that an override moves. As in kube-apiserver, the override of a
// resource takes precedence over that of its group, and CustomResourceDefinitions and
// APIServices are never moved.
func (p *builder) movedBy(o etcdOverride, all []etcdOverride) []schema.GroupResource {
	var moved []schema.GroupResource
	for _, r := range p.catalogue.Resources() {
		gr := r.GroupResource()
		if r.Virtual != nil || slices.Contains(groupsNeverMoved(), gr.Group) {
			continue
		}
		ofGroup := o.resource == schema.GroupResource{Group: gr.Group, Resource: allResources} &&
			!slices.ContainsFunc(all, func(other etcdOverride) bool { return other.resource == gr })
		if ofGroup || o.resource == gr {
			moved = append(moved, gr)
		}
	}
	return moved
}

// connectOtherStores connects the stores of --etcd-servers-overrides.
func (p *builder) connectOtherStores(ctx context.Context) error {
	for _, store := range p.others {
		err := p.connect(ctx, store)
		var inFile *storage.TLSFileError
		if errors.As(err, &inFile) {
			return p.tlsFileError(inFile)
		}
		if err != nil {
			return fmt.Errorf("--etcd-servers-overrides: %w", err)
		}
	}
	return nil
}

// allStores returns the store and those of other etcds.
func (p *builder) allStores() []*storage.Store {
	return append([]*storage.Store{p.store}, p.others...)
}

// otherStoreChecks returns the health checks of the other etcds, with kube-apiserver's names.
func (p *builder) otherStoreChecks() []description.Check {
	var checks []description.Check
	for i, store := range p.others {
		checks = append(checks,
			description.Check{Name: fmt.Sprintf("etcd-override-%d", i), Group: "etcd", Health: true, Live: true,
				Ready: true, Run: withTimeout(p.o.Etcd.HealthcheckTimeout, store.Healthy)},
			description.Check{Name: fmt.Sprintf("etcd-override-readiness-%d", i), Group: "etcd-readiness",
				Ready: true, Run: withTimeout(p.o.Etcd.ReadycheckTimeout, store.Healthy)})
	}
	return checks
}
