package registry

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SetLag has the parts of the server that follow the objects of resources, such as its authorizers, admission and controllers, see their
// changes so much later as of returns, from now on. Nil ends that. It holds for resources that are added later, too.
func (r *Registry) SetLag(of func(schema.GroupResource) time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lagOf = of
	for _, c := range r.collections {
		if of == nil {
			c.SetLag(0)
		} else {
			c.SetLag(of(c.GroupResource()))
		}
	}
}
