package core

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/kinds/core/pod"
)

// LimitRange describes the kind LimitRange: limits and defaults for the resources of objects
// in a namespace.
func LimitRange() *api.Resource {
	return api.NewResource(api.Kind[*corev1.LimitRange]{
		Names: api.Names{
			Name: "limitranges", Singular: "limitrange", Kind: "LimitRange",
			ShortNames: []string{"limits"},
			Namespaced: true,
		},
		Versions: api.Served(corev1.SchemeGroupVersion),
		Default: func(l *corev1.LimitRange) {
			for i := range l.Spec.Limits {
				defaultLimitItem(&l.Spec.Limits[i])
			}
		},
		Storage:             api.Storage{Prefix: "limitranges"},
		AllowCreateOnUpdate: true,
		Prepare:             api.Prepare(prepareLimitRange, nil),
		Checks:              api.Checks(api.NewMetadata, api.Rules(limitRangeRules), api.Declared),
	})
}

// prepareLimitRange gives a limit range without a name a random one.
func prepareLimitRange(l *corev1.LimitRange) {
	if l.Name == "" {
		l.Name = string(uuid.NewUUID())
	}
}

func limitRangeRules(at *validation.Path, l *corev1.LimitRange) {
	var types validation.Unique[corev1.LimitType]
	validation.Each(at.Child("spec").Child("limits"), l.Spec.Limits, func(at *validation.Path, item *corev1.LimitRangeItem) {
		limitTypeRules(at.Child("type"), item.Type)
		types.Add(at.Child("type"), item.Type)
		limitItemRules(at, item)
	})
}

func limitTypeRules(at *validation.Path, t corev1.LimitType) {
	if !validation.Format(at, string(t), validation.QualifiedName) || strings.Contains(string(t), "/") {
		return
	}
	switch t {
	case corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim:
	default:
		at.Invalid(t, "must be a standard limit type or fully qualified")
	}
}

func limitItemRules(at *validation.Path, item *corev1.LimitRangeItem) {
	limitNames(at.Child("max"), item.Type, item.Max)
	limitNames(at.Child("min"), item.Type, item.Min)
	if item.Type == corev1.LimitTypePod {
		const not = "may not be specified when `type` is 'Pod'"
		if len(item.Default) > 0 {
			at.Child("default").Forbidden(not)
		}
		if len(item.DefaultRequest) > 0 {
			at.Child("defaultRequest").Forbidden(not)
		}
		item = &corev1.LimitRangeItem{Min: item.Min, Max: item.Max, MaxLimitRequestRatio: item.MaxLimitRequestRatio, Type: item.Type}
	}
	limitNames(at.Child("default"), item.Type, item.Default)
	limitNames(at.Child("defaultRequest"), item.Type, item.DefaultRequest)
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, low := item.Min[corev1.ResourceStorage]
		_, high := item.Max[corev1.ResourceStorage]
		if !low && !high {
			at.Child("limits").Required("either minimum or maximum storage value is required, but neither was provided")
		}
	}
	limitNames(at.Child("maxLimitRequestRatio"), item.Type, item.MaxLimitRequestRatio)
	names := maps.Clone(item.Max)
	for _, list := range []corev1.ResourceList{item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
		for name, value := range list {
			if names == nil {
				names = corev1.ResourceList{}
			}
			names[name] = value
		}
	}
	for _, name := range validation.SortedKeys(names) {
		limitOrderRules(at, item, name)
		ratioRules(at.Child("maxLimitRequestRatio").Key(string(name)), item, name)
		request, hasRequest := item.DefaultRequest[name]
		limit, hasLimit := item.Default[name]
		if hasRequest && hasLimit && !pod.AllowsOvercommit(name) && limit.Cmp(request) != 0 {
			at.Child("defaultRequest").Key(string(name)).Invalid(request,
				fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", limit.String(), request.String(), name))
		}
	}
}

func limitNames(at *validation.Path, t corev1.LimitType, list corev1.ResourceList) {
	for _, name := range validation.SortedKeys(list) {
		if t == corev1.LimitTypePod || t == corev1.LimitTypeContainer {
			validation.ContainerResourceName(at.Key(string(name)), name)
		} else {
			validation.ResourceName(at.Key(string(name)), name)
		}
	}
}

// limitOrderRules validates that min, default request, default and max are in ascending order.
func limitOrderRules(at *validation.Path, item *corev1.LimitRangeItem, name corev1.ResourceName) {
	type bound struct {
		field, name string
		list        corev1.ResourceList
	}
	low := bound{"min", "min value", item.Min}
	high := bound{"max", "max value", item.Max}
	request := bound{"defaultRequest", "default request value", item.DefaultRequest}
	limit := bound{"default", "default limit value", item.Default}
	// As in kube-apiserver, errors have two names for this field.
	value := bound{"default", "default value", item.Default}
	for _, c := range []struct {
		less, more bound
		field      string
		showMore   bool
	}{
		{low, high, "min", false},
		{low, request, "defaultRequest", true},
		{request, high, "defaultRequest", false},
		{request, limit, "defaultRequest", false},
		{low, value, "default", false},
		{value, high, "default", true},
	} {
		less, ok := c.less.list[name]
		more, also := c.more.list[name]
		if !ok || !also || less.Cmp(more) <= 0 {
			continue
		}
		shown := less
		if c.showMore {
			shown = more
		}
		at.Child(c.field).Key(string(name)).Invalid(shown,
			fmt.Sprintf("%s %s is greater than %s %s", c.less.name, less.String(), c.more.name, more.String()))
	}
}

// ratioRules validates the maximum ratio of limit to request against min and max.
func ratioRules(at *validation.Path, item *corev1.LimitRangeItem, name corev1.ResourceName) {
	ratio, ok := item.MaxLimitRequestRatio[name]
	if !ok {
		return
	}
	if ratio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
		at.Invalid(ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String()))
	}
	low, hasLow := item.Min[name]
	high, hasHigh := item.Max[name]
	if !hasLow || !hasHigh {
		return
	}
	r, l, h := float64(ratio.Value()), low.Value(), high.Value()
	if ratio.Value() < resource.MaxMilliValue && l < resource.MaxMilliValue && h < resource.MaxMilliValue {
		r, l, h = float64(ratio.MilliValue())/1000, low.MilliValue(), high.MilliValue()
	}
	if room := float64(h) / float64(l); r > room {
		at.Invalid(ratio, fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), room))
	}
}

// defaultLimitItem sets the defaults for containers: the default limit is max; the default
// request is the default limit or, without it, min.
func defaultLimitItem(item *corev1.LimitRangeItem) {
	for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
		validation.RoundToMillis(list)
	}
	if item.Type != corev1.LimitTypeContainer {
		return
	}
	item.Default = fillIn(item.Default, item.Max)
	item.DefaultRequest = fillIn(fillIn(item.DefaultRequest, item.Default), item.Min)
}

// fillIn adds the missing resources of from to list.
func fillIn(list, from corev1.ResourceList) corev1.ResourceList {
	for name, value := range from {
		if _, ok := list[name]; ok {
			continue
		}
		if list == nil {
			list = corev1.ResourceList{}
		}
		list[name] = value.DeepCopy()
	}
	return list
}
