// Package try finds what a program changed on a server that exists for it alone, such as a fork: Begin reads the objects
// before, and Changes compares them with those afterwards, and tells what the server refused, which webhooks it asked and which
// warnings it gave. Copy loads the objects of another cluster into an empty server.
//
// It is a client of the API: package kubectl uses it for the command "kubectl lab try", and package server for Server.Try. All
// objects that existed before are in memory, as JSON.
package try

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// Diff is what a program changed on a server, and what the server answered to it.
type Diff struct {
	// Objects are the objects that differ, ordered by resource, namespace and name.
	Objects []Object `json:"objects"`
	// Refusals are the requests of the program that the server refused, in their order. A read of an object that does not exist is
	// no refusal. They need a server with a lab, as all that follows.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Webhooks are the admission webhooks that the requests were sent to.
	Webhooks []Webhook `json:"webhooks,omitempty"`
	// Warnings are the different warnings in the answers.
	Warnings []string `json:"warnings,omitempty"`
	// Unread are the resources whose objects could not be read before or afterwards, with the reason.
	Unread []string `json:"unread,omitempty"`
}

// Actions on an Object.
const (
	Created  = "Created"
	Changed  = "Changed"
	Replaced = "Replaced" // deleted and created anew
	Deleted  = "Deleted"
)

// Object is an object that differs.
type Object struct {
	// Resource and Group are those of the object, Namespace is empty for objects without one.
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Action is Created, Changed, Replaced or Deleted.
	Action string `json:"action"`
	// ByController is true for an object that the controllers of the server made of their own accord, as they do in each namespace.
	ByController bool `json:"byController,omitempty"`
	// Before and After are the object; nil where there is none.
	Before map[string]any `json:"before,omitempty"`
	After  map[string]any `json:"after,omitempty"`
}

// Key returns the object as Changes name it: deployments.apps/default/web, nodes/n.
func (o *Object) Key() string {
	key := schema.GroupResource{Group: o.Group, Resource: o.Resource}.String() + "/"
	if o.Namespace != "" {
		key += o.Namespace + "/"
	}
	return key + o.Name
}

// Refusal is a request that the server refused.
type Refusal struct {
	// Request is the name of the Request.
	Request string `json:"request"`
	User    string `json:"user"`
	Verb    string `json:"verb"`
	// Object is the object, collection or path.
	Object string `json:"object"`
	Code   int32  `json:"code"`
	// Why is the cause in a line.
	Why string `json:"why"`
	// Cause is what refused the request.
	Cause *v1alpha1.Cause `json:"cause,omitempty"`
}

// Webhook is an admission webhook that was asked.
type Webhook struct {
	// Name is CONFIGURATION/WEBHOOK.
	Name string `json:"name"`
	// Calls is the number of requests about which it was asked.
	Calls int `json:"calls"`
	// Refused is the number of those that it refused.
	Refused int `json:"refused,omitempty"`
}

// isCompared reports whether the objects of a resource are compared: stored ones that a program means to change.
func isCompared(r *client.Resource) bool {
	switch r.String() {
	case "events", "events.events.k8s.io", "leases.coordination.k8s.io":
		return false // programs report and hold them all the time
	}
	return r.Group != v1alpha1.GroupVersion.Group && r.Can("list") && r.Can("watch")
}

// comparedResources returns the resources whose objects are compared, each in the version that the server prefers.
func comparedResources(all []client.Resource) []client.Resource {
	var out []client.Resource
	for i := range all {
		if isCompared(&all[i]) && !slices.ContainsFunc(out, func(r client.Resource) bool { return r.String() == all[i].String() }) {
			out = append(out, all[i])
		}
	}
	return out
}
