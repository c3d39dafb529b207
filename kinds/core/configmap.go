package core

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// maxDataSize is the maximum size of the data of a ConfigMap or Secret.
const maxDataSize = corev1.MaxSecretSize

// ConfigMap describes the kind ConfigMap, which contains configuration data for pods.
func ConfigMap() *api.Resource {
	return api.NewResource(api.Kind[*corev1.ConfigMap]{
		Names:    api.Names{Name: "configmaps", Singular: "configmap", Kind: "ConfigMap", ShortNames: []string{"cm"}, Namespaced: true},
		Versions: api.Served(corev1.SchemeGroupVersion),
		Storage:  api.Storage{Prefix: "configmaps"},
		Checks: api.Checks(
			api.Metadata,
			api.OnUpdate(validateConfigMapUpdate),
			api.RevalidatedMetadata,
			validateConfigMap,
			api.Declared,
		),
		Table: api.Rows(configMapRow),
	})
}

func validateConfigMap(w *api.Write[*corev1.ConfigMap]) {
	cm, size := w.Object, 0
	for key, value := range cm.Data {
		w.Add(dataKey(key, field.NewPath("data"))...)
		if _, ok := cm.BinaryData[key]; ok {
			w.Add(field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(value)
	}
	for key, value := range cm.BinaryData {
		w.Add(dataKey(key, field.NewPath("binaryData"))...)
		size += len(value)
	}
	if size > maxDataSize {
		// As in kube-apiserver, the path of the error is empty brackets.
		w.Add(field.TooLong(field.NewPath("[]"), "", maxDataSize))
	}
}

func dataKey(key string, at *field.Path) field.ErrorList {
	if validation.FastDataKey(key) {
		return nil
	}
	var errs field.ErrorList
	for _, fault := range utilvalidation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(at.Key(key), key, fault))
	}
	return errs
}

func validateConfigMapUpdate(w *api.Write[*corev1.ConfigMap]) {
	cm, old := w.Object, w.Old
	if old.Immutable == nil || !*old.Immutable {
		return
	}
	if cm.Immutable == nil || !*cm.Immutable {
		w.Add(field.Forbidden(field.NewPath("immutable"), immutableMessage))
	}
	// As in kube-apiserver, an empty map differs from none.
	if !reflect.DeepEqual(cm.Data, old.Data) {
		w.Add(field.Forbidden(field.NewPath("data"), immutableMessage))
	}
	if !reflect.DeepEqual(cm.BinaryData, old.BinaryData) {
		w.Add(field.Forbidden(field.NewPath("binaryData"), immutableMessage))
	}
}

const immutableMessage = "field is immutable when `immutable` is set"

func configMapRow(row *table.Row, c *corev1.ConfigMap) {
	row.Name(c.Name)
	row.Text("Data", ".data", int64(len(c.Data)+len(c.BinaryData)))
	row.Age(c)
}
