package ssa

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Replicas tells where an object keeps its number of replicas, as names with
// dots between them, by apiVersion. An empty path: it has none in that version.
type Replicas map[string]string

// scaleVersion is the version of Scale, which has its replicas in its spec.
const scaleVersion = "autoscaling/v1"

func replicasInScale() Set { return paths([]string{"spec", "replicas"}) }

func (r Replicas) path(apiVersion string) (s Set, known bool) {
	path, known := r[apiVersion]
	if path == "" {
		return nil, known
	}
	return paths(strings.Split(path, ".")), true
}

// ScaleFields returns the managedFields that the Scale of an object has, given
// those of the object: who owns the number of replicas.
func ScaleFields(parent []metav1.ManagedFieldsEntry, r Replicas) ([]metav1.ManagedFieldsEntry, error) {
	os, err := decode(parent)
	if err != nil {
		return nil, err
	}
	var out owners
	for _, o := range os {
		if path, _ := r.path(o.apiVersion); len(path) > 0 && o.fields.contains(path) {
			o.apiVersion = scaleVersion
			o.set(replicasInScale())
			out = append(out, o)
		}
	}
	return out.encode(), nil
}

// ParentFields returns the managedFields of an object after its Scale was
// written by way of the given apiVersion of the object: parent are those of the
// object before, scale those of the Scale after.
func ParentFields(parent, scale []metav1.ManagedFieldsEntry, apiVersion string, r Replicas) ([]metav1.ManagedFieldsEntry, error) {
	before, err := decode(parent)
	if err != nil {
		return nil, err
	}
	scaled, err := decode(scale)
	if err != nil {
		return nil, err
	}
	var out owners
	for _, o := range before {
		path, known := r.path(o.apiVersion)
		if !known {
			continue
		}
		if len(path) > 0 && o.fields.contains(path) {
			if scaled.find(&o) == nil {
				o.take(path)
			}
			scaled = slices.DeleteFunc(scaled, func(s owner) bool { return s.is(&o) })
		}
		if len(o.fields) > 0 {
			out = append(out, o)
		}
	}
	path, _ := r.path(apiVersion)
	for _, o := range scaled {
		if !o.fields.contains(replicasInScale()) {
			continue
		}
		there := out.find(&o)
		o.time = nil
		if was := before.find(&o); was != nil {
			o.time = was.time
		}
		o.apiVersion = apiVersion
		o.set(path)
		if there != nil {
			*there = o
		} else {
			out = append(out, o)
		}
	}
	return out.encode(), nil
}
