package core

import (
	"crypto/tls"
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
)

// Secret describes the kind Secret, which contains confidential data.
func Secret() *api.Resource {
	return api.NewResource(api.Kind[*corev1.Secret]{
		Names:    api.Names{Name: "secrets", Singular: "secret", Kind: "Secret", Namespaced: true},
		Versions: api.WithFieldLabels(api.Served(corev1.SchemeGroupVersion), api.NameLabel, api.NamespaceLabel, "type"),
		Default:  defaultSecret,
		Storage:  api.Storage{Prefix: "secrets"},
		Checks: api.Checks(
			api.Metadata,
			api.OnUpdate(validateSecretUpdate),
			api.RevalidatedMetadata,
			validateSecret,
			api.Declared,
			api.Warn(secretWarnings),
		),
		Selectable: func(obj *corev1.Secret) map[string]string {
			return map[string]string{"type": string(obj.Type)}
		},
		// kubectl apply stores the whole object in an annotation.
		Confidential: []string{"data", "stringData", "metadata.annotations"},
		Table:        api.Rows(secretRow),
	})
}

// defaultSecret also moves stringData, which is write-only, into data.
func defaultSecret(s *corev1.Secret) {
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	if s.StringData != nil {
		s.StringData = nil
	}
}

func validateSecret(w *api.Write[*corev1.Secret]) {
	s, data, size := w.Object, field.NewPath("data"), 0
	for key, value := range s.Data {
		w.Add(dataKey(key, data)...)
		size += len(value)
	}
	if size > maxDataSize {
		w.Add(field.TooLong(data, "", maxDataSize))
	}
	w.Add(secretTypeData(s, data)...)
}

// secretTypeData validates that data has the keys that the type of the secret requires.
func secretTypeData(s *corev1.Secret, data *field.Path) field.ErrorList {
	missing := func(key string) field.ErrorList {
		return field.ErrorList{field.Required(data.Key(key), "")}
	}
	has := func(key string) bool { _, ok := s.Data[key]; return ok }
	var errs field.ErrorList
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(api.MetadataPath().Child("annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		errs = jsonData(s, data.Key(corev1.DockerConfigKey), corev1.DockerConfigKey)
	case corev1.SecretTypeDockerConfigJson:
		errs = jsonData(s, data.Key(corev1.DockerConfigJsonKey), corev1.DockerConfigJsonKey)
	case corev1.SecretTypeBasicAuth:
		if !has(corev1.BasicAuthUsernameKey) && !has(corev1.BasicAuthPasswordKey) {
			errs = append(missing(corev1.BasicAuthUsernameKey), missing(corev1.BasicAuthPasswordKey)...)
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			errs = missing(corev1.SSHAuthPrivateKey)
		}
	case corev1.SecretTypeTLS:
		if !has(corev1.TLSCertKey) {
			errs = append(errs, missing(corev1.TLSCertKey)...)
		}
		if !has(corev1.TLSPrivateKeyKey) {
			errs = append(errs, missing(corev1.TLSPrivateKeyKey)...)
		}
	}
	return errs
}

func jsonData(s *corev1.Secret, at *field.Path, key string) field.ErrorList {
	value, ok := s.Data[key]
	if !ok {
		return field.ErrorList{field.Required(at, "")}
	}
	var parsed map[string]any
	if err := json.Unmarshal(value, &parsed); err != nil {
		return field.ErrorList{field.Invalid(at, "<secret contents redacted>", err.Error())}
	}
	return nil
}

func validateSecretUpdate(w *api.Write[*corev1.Secret]) {
	s, old := w.Object, w.Old
	w.Add(apivalidation.ValidateImmutableField(s.Type, old.Type, field.NewPath("type"))...)
	if old.Immutable == nil || !*old.Immutable {
		return
	}
	if s.Immutable == nil || !*s.Immutable {
		w.Add(field.Forbidden(field.NewPath("immutable"), immutableMessage))
	}
	if !reflect.DeepEqual(s.Data, old.Data) { // as in kube-apiserver, an empty map differs from none
		w.Add(field.Forbidden(field.NewPath("data"), immutableMessage))
	}
}

// secretWarnings warns about invalid certificates in secrets of type kubernetes.io/tls.
func secretWarnings(s *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS || len(secretTypeData(s, nil)) > 0 {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func secretRow(row *table.Row, s *corev1.Secret) {
	row.Name(s.Name)
	row.Text("Type", ".type", string(s.Type))
	row.Text("Data", ".data", int64(len(s.Data)))
	row.Age(s)
}
