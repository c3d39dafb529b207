package ssa

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Replicas maps an apiVersion to the dotted path of the object's replica count; an empty path means
// that the version has none.
type Replicas map[string]string

// scaleVersion is the version of Scale, whose replica count is spec.replicas.
const scaleVersion = "autoscaling/v1"

func replicasInScale() Set { return paths([]string{"spec", "replicas"}) }

func (r Replicas) path(apiVersion string) (s Set, known bool) {
	path, known := r[apiVersion]
	if path == "" {
		return nil, known
	}
	return paths(strings.Split(path, ".")), true
}

// ScaleFields returns the managedFields of an object's Scale: the owners of the replica count in
// the object's managedFields.
func ScaleFields(parent []metav1.ManagedFieldsEntry, r Replicas) ([]metav1.ManagedFieldsEntry, error) {
	os, err := decodeOwners(parent, nil)
	if err != nil {
		return nil, err
	}
	var out owners
	for _, o := range os {
		if path, _ := r.path(o.apiVersion); len(path) > 0 && o.fields.contains(path) {
			o.apiVersion = scaleVersion
			o.setFields(replicasInScale())
			out = append(out, o)
		}
	}
	return out.encode(), nil
}

// ParentFields returns the managedFields of an object after a write to its Scale in the given
// apiVersion of the object. parent are the managedFields of the object before the write, scale the
// ones of the Scale after it.
func ParentFields(parent, scale []metav1.ManagedFieldsEntry, apiVersion string, r Replicas) ([]metav1.ManagedFieldsEntry, error) {
	before, err := decodeOwners(parent, nil)
	if err != nil {
		return nil, err
	}
	scaled, err := decodeOwners(scale, nil)
	if err != nil {
		return nil, err
	}
	var out owners
	unchanged, rest := map[ownerKey]bool{}, scaled.byKey() // unchanged are the owners of before that have the replica count
	for _, o := range before {
		path, known := r.path(o.apiVersion)
		if !known {
			continue
		}
		if len(path) > 0 && o.fields.contains(path) {
			if _, remains := rest[o.key()]; !remains {
				o.removeChanged(path)
			}
			unchanged[o.key()] = true
		}
		if len(o.fields) > 0 {
			out = append(out, o)
		}
	}
	path, _ := r.path(apiVersion)
	was, now := before.byKey(), out.byKey()
	for _, o := range scaled {
		if unchanged[o.key()] || !o.fields.contains(replicasInScale()) {
			continue
		}
		i, exists := now[o.key()]
		o.time = nil
		if j, ok := was[o.key()]; ok {
			o.time = before[j].time
		}
		o.apiVersion = apiVersion
		o.setFields(path)
		if exists {
			out[i] = o
		} else {
			out = append(out, o)
		}
	}
	return out.encode(), nil
}
