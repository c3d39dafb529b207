package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const kindsExtension = "x-kubernetes-group-version-kind"

// restrictKinds reduces the group versions of the types that belong to all of them, DeleteOptions and
// WatchEvent, to those that kube-apiserver lists in this document of version 3.
func (d Document) restrictKinds(defs []Definition) error {
	isListed := d.isOwnOrCore
	if d.custom {
		isListed = isClientKind
	}
	for i, def := range defs {
		if def.Name != modelDeleteOptions && def.Name != modelWatchEvent {
			continue
		}
		var err error
		if defs[i].V3, err = filterKinds(def.V3, isListed); err != nil {
			return fmt.Errorf("schema of %s: %w", def.Name, err)
		}
	}
	return nil
}

func (d Document) isOwnOrCore(kind schema.GroupVersionKind) bool {
	gv := kind.GroupVersion()
	return gv == d.gv || gv == schema.GroupVersion{Version: "v1"}
}

// isClientKind reports whether kind is in the scheme of clients, with which kube-apiserver makes the
// documents of custom resources.
func isClientKind(kind schema.GroupVersionKind) bool {
	switch kind.Group {
	case "admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io":
		return false
	}
	return true
}

// filterKinds returns a definition without the group versions and kinds that are not listed.
func filterKinds(definition []byte, isListed func(schema.GroupVersionKind) bool) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(definition, &members); err != nil {
		return nil, err
	}
	var kinds []map[string]string
	if err := json.Unmarshal(members[kindsExtension], &kinds); err != nil {
		return nil, fmt.Errorf("%s: %w", kindsExtension, err)
	}
	kinds = slices.DeleteFunc(kinds, func(k map[string]string) bool {
		return !isListed(schema.GroupVersionKind{Group: k["group"], Version: k["version"], Kind: k["kind"]})
	})
	out, err := withKinds(definition, kinds)
	if out == nil {
		return definition, err
	}
	return out, nil
}

// withKinds returns the definition with kinds as its x-kubernetes-group-version-kind, or nil
// if that has the same value already.
func withKinds(definition []byte, kinds any) ([]byte, error) {
	var content rawObject
	if err := json.Unmarshal(definition, &content); err != nil {
		return nil, err
	}
	var is, was bytes.Buffer
	if err := appendJSON(&is, kinds); err != nil {
		return nil, err
	}
	var before any
	if old, ok := content[kindsExtension]; ok {
		if err := json.Unmarshal(old, &before); err != nil {
			return nil, err
		}
	}
	if err := appendJSON(&was, before); err != nil || bytes.Equal(is.Bytes(), was.Bytes()) {
		return nil, err
	}
	content[kindsExtension] = is.Bytes()
	var out bytes.Buffer
	err := appendJSON(&out, content)
	return out.Bytes(), err
}
