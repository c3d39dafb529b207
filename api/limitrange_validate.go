package api

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func limitRangeRules(at *place, l *corev1.LimitRange) {
	var types unique[corev1.LimitType]
	each(at.of("spec").of("limits"), l.Spec.Limits, func(at *place, item *corev1.LimitRangeItem) {
		limitTypeRules(at.of("type"), item.Type)
		types.add(at.of("type"), item.Type)
		limitItemRules(at, item)
	})
}

func limitTypeRules(at *place, t corev1.LimitType) {
	if !format(at, string(t), qualifiedName) || strings.Contains(string(t), "/") {
		return
	}
	switch t {
	case corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim:
	default:
		at.invalid(t, "must be a standard limit type or fully qualified")
	}
}

func limitItemRules(at *place, item *corev1.LimitRangeItem) {
	limitNames(at.of("max"), item.Type, item.Max)
	limitNames(at.of("min"), item.Type, item.Min)
	if item.Type == corev1.LimitTypePod {
		const not = "may not be specified when `type` is 'Pod'"
		if len(item.Default) > 0 {
			at.of("default").forbidden(not)
		}
		if len(item.DefaultRequest) > 0 {
			at.of("defaultRequest").forbidden(not)
		}
		item = &corev1.LimitRangeItem{Min: item.Min, Max: item.Max, MaxLimitRequestRatio: item.MaxLimitRequestRatio, Type: item.Type}
	}
	limitNames(at.of("default"), item.Type, item.Default)
	limitNames(at.of("defaultRequest"), item.Type, item.DefaultRequest)
	if item.Type == corev1.LimitTypePersistentVolumeClaim {
		_, low := item.Min[corev1.ResourceStorage]
		_, high := item.Max[corev1.ResourceStorage]
		if !low && !high {
			at.of("limits").required("either minimum or maximum storage value is required, but neither was provided")
		}
	}
	limitNames(at.of("maxLimitRequestRatio"), item.Type, item.MaxLimitRequestRatio)
	names := maps.Clone(item.Max)
	for _, list := range []corev1.ResourceList{item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
		for name, value := range list {
			if names == nil {
				names = corev1.ResourceList{}
			}
			names[name] = value
		}
	}
	for _, name := range sortedKeys(names) {
		limitOrderRules(at, item, name)
		ratioRules(at.of("maxLimitRequestRatio").key(string(name)), item, name)
		request, hasRequest := item.DefaultRequest[name]
		limit, hasLimit := item.Default[name]
		if hasRequest && hasLimit && !overcommits(name) && limit.Cmp(request) != 0 {
			at.of("defaultRequest").key(string(name)).invalid(request,
				fmt.Sprintf("default value %s must equal to defaultRequest value %s in %s", limit.String(), request.String(), name))
		}
	}
}

func limitNames(at *place, t corev1.LimitType, list corev1.ResourceList) {
	for _, name := range sortedKeys(list) {
		if t == corev1.LimitTypePod || t == corev1.LimitTypeContainer {
			containerResourceName(at.key(string(name)), name)
		} else {
			resourceName(at.key(string(name)), name)
		}
	}
}

// limitOrderRules: min, default request, default and max come in this order.
func limitOrderRules(at *place, item *corev1.LimitRangeItem, name corev1.ResourceName) {
	type bound struct {
		field, name string
		list        corev1.ResourceList
	}
	low := bound{"min", "min value", item.Min}
	high := bound{"max", "max value", item.Max}
	request := bound{"defaultRequest", "default request value", item.DefaultRequest}
	limit := bound{"default", "default limit value", item.Default}
	// The same field goes by two names in messages.
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
		at.of(c.field).key(string(name)).invalid(shown,
			fmt.Sprintf("%s %s is greater than %s %s", c.less.name, less.String(), c.more.name, more.String()))
	}
}

// ratioRules: a limit may be that many times its request, which the bounds of
// both must leave room for.
func ratioRules(at *place, item *corev1.LimitRangeItem, name corev1.ResourceName) {
	ratio, ok := item.MaxLimitRequestRatio[name]
	if !ok {
		return
	}
	if ratio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
		at.invalid(ratio, fmt.Sprintf("ratio %s is less than 1", ratio.String()))
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
		at.invalid(ratio, fmt.Sprintf("ratio %s is greater than max/min = %f", ratio.String(), room))
	}
}

// defaultLimitItem: for containers, a limit that is not there is the maximum,
// and a request is the limit, or else the minimum.
func defaultLimitItem(item *corev1.LimitRangeItem) {
	for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
		wholeMillis(list)
	}
	if item.Type != corev1.LimitTypeContainer {
		return
	}
	item.Default = fillIn(item.Default, item.Max)
	item.DefaultRequest = fillIn(fillIn(item.DefaultRequest, item.Default), item.Min)
}

// fillIn adds to a list what it lacks of another.
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
