package api

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxDataSize bounds what a ConfigMap or a Secret holds.
const maxDataSize = corev1.MaxSecretSize

// configMap is data that pods read their configuration from.
func configMap() *Resource {
	return &Resource{
		Name: "configmaps", Singular: "configmap", Kind: "ConfigMap",
		ShortNames:          []string{"cm"},
		Namespaced:          true,
		Versions:            served(corev1.SchemeGroupVersion),
		New:                 func() Object { return &corev1.ConfigMap{} },
		Rows:                &Table{Columns: configMapColumns, Cells: configMapCells},
		Prefix:              "configmaps",
		MetadataRevalidated: true,
		Validate:            validateConfigMap,
		ValidateUpdate:      validateConfigMapUpdate,
	}
}

func validateConfigMap(obj Object) field.ErrorList {
	cm := obj.(*corev1.ConfigMap)
	var errs field.ErrorList
	size := 0
	for key, value := range cm.Data {
		errs = append(errs, dataKey(key, field.NewPath("data"))...)
		if _, ok := cm.BinaryData[key]; ok {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(value)
	}
	for key, value := range cm.BinaryData {
		errs = append(errs, dataKey(key, field.NewPath("binaryData"))...)
		size += len(value)
	}
	if size > maxDataSize {
		// The fault has no field of its own, which is written as two brackets.
		errs = append(errs, field.TooLong(field.NewPath("[]"), "", maxDataSize))
	}
	return errs
}

func dataKey(key string, at *field.Path) field.ErrorList {
	if plainDataKey(key) {
		return nil
	}
	var errs field.ErrorList
	for _, fault := range validation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(at.Key(key), key, fault))
	}
	return errs
}

func validateConfigMapUpdate(obj, old Object) field.ErrorList {
	cm, was := obj.(*corev1.ConfigMap), old.(*corev1.ConfigMap)
	if was.Immutable == nil || !*was.Immutable {
		return nil
	}
	var errs field.ErrorList
	if cm.Immutable == nil || !*cm.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutableMessage))
	}
	if !equality.Semantic.DeepEqual(cm.Data, was.Data) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), immutableMessage))
	}
	if !equality.Semantic.DeepEqual(cm.BinaryData, was.BinaryData) {
		errs = append(errs, field.Forbidden(field.NewPath("binaryData"), immutableMessage))
	}
	return errs
}

const immutableMessage = "field is immutable when `immutable` is set"
