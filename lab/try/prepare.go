package try

import (
	"encoding/json"

	"github.com/miniapiserver/miniapiserver/lab/kubectl/client"
)

// textIn returns a text of the metadata of an object.
func textIn(object map[string]any, field string) string {
	metadata, _ := object["metadata"].(map[string]any)
	text, _ := metadata[field].(string)
	return text
}

// listIn returns a list of the metadata of an object.
func listIn(object map[string]any, field string) []any {
	metadata, _ := object["metadata"].(map[string]any)
	list, _ := metadata[field].([]any)
	return list
}

func (one *loaded) text(field string) string { return textIn(one.object, field) }

// key returns the object as Changes name it.
func (one *loaded) key() string {
	o := client.Object{Resource: *one.resource, Namespace: one.text("namespace"), ObjectName: one.text("name")}
	return o.Key()
}

// target returns the path of the object, or of its collection.
func (one *loaded) target(named bool) client.Target {
	t := client.Target{Group: one.resource.Group, Version: one.resource.Version, Resource: one.resource.Name, Namespace: one.text("namespace")}
	if named {
		t.Name = one.text("name")
	}
	return t
}

func clone(object map[string]any) (out map[string]any, err error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(data, &out)
}

// waits reports whether an owner of an object was read and is not loaded yet.
func (l *loader) waits(one *loaded) bool {
	for _, owner := range listIn(one.object, "ownerReferences") {
		reference, _ := owner.(map[string]any)
		uid, _ := reference["uid"].(string)
		if l.known[uid] && l.uids[uid] == "" {
			return true
		}
	}
	return false
}

// prepare removes from an object what the server sets, makes it refer to the uids of the fork, and returns what it lost.
func (l *loader) prepare(one *loaded) (lost []string) {
	metadata, ok := one.object["metadata"].(map[string]any)
	if !ok {
		return nil // the server refuses it, and says why
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds", "generateName"} {
		delete(metadata, field)
	}
	var owners []any
	for _, owner := range listIn(one.object, "ownerReferences") {
		reference, _ := owner.(map[string]any)
		uid, _ := reference["uid"].(string)
		if l.uids[uid] == "" {
			name, _ := reference["name"].(string)
			lost = append(lost, "the reference to its owner "+name+" is left out, as the owner is not loaded")
			continue
		}
		reference["uid"] = l.uids[uid]
		owners = append(owners, reference)
	}
	delete(metadata, "ownerReferences")
	if len(owners) > 0 {
		metadata["ownerReferences"] = owners
	}
	l.prepareKind(one, metadata)
	return lost
}

// prepareKind changes the fields of certain kinds that have uids, or that a new object of the kind may not have.
func (l *loader) prepareKind(one *loaded, metadata map[string]any) {
	spec, _ := one.object["spec"].(map[string]any)
	switch one.resource.String() {
	case "secrets":
		annotations, _ := metadata["annotations"].(map[string]any)
		const account = "kubernetes.io/service-account.uid"
		if uid, _ := annotations[account].(string); uid != "" && l.uids[uid] != "" {
			annotations[account] = l.uids[uid]
		}
	case "persistentvolumes":
		if claim, ok := spec["claimRef"].(map[string]any); ok {
			delete(claim, "uid") // the binder sets it
			delete(claim, "resourceVersion")
		}
	case "jobs.batch":
		if manual, _ := spec["manualSelector"].(bool); manual {
			return
		}
		delete(spec, "selector") // made from the uid
		template, _ := spec["template"].(map[string]any)
		inner, _ := template["metadata"].(map[string]any)
		labels, _ := inner["labels"].(map[string]any)
		for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"} {
			delete(labels, label)
		}
	}
}
