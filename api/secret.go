package api

import (
	"crypto/tls"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// secret is data that only those may see who need it.
func secret() *Resource {
	return &Resource{
		Name: "secrets", Singular: "secret", Kind: "Secret",
		Namespaced:          true,
		Versions:            selectable(served(corev1.SchemeGroupVersion), nameLabel, namespaceLabel, "type"),
		New:                 func() Object { return &corev1.Secret{} },
		Rows:                &Table{Columns: secretColumns, Cells: secretCells},
		Prefix:              "secrets",
		ObjectWarnings:      secretWarnings,
		MetadataRevalidated: true,
		Default:             defaultSecret,
		Validate:            validateSecret,
		ValidateUpdate:      validateSecretUpdate,
		Fields: func(obj Object) map[string]string {
			return map[string]string{"type": string(obj.(*corev1.Secret).Type)}
		},
	}
}

// defaultSecret also moves stringData, which is only ever written, into data.
func defaultSecret(obj Object) {
	s := obj.(*corev1.Secret)
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

func validateSecret(obj Object) field.ErrorList {
	s := obj.(*corev1.Secret)
	data := field.NewPath("data")
	var errs field.ErrorList
	size := 0
	for key, value := range s.Data {
		errs = append(errs, dataKey(key, data)...)
		size += len(value)
	}
	if size > maxDataSize {
		errs = append(errs, field.TooLong(data, "", maxDataSize))
	}
	return append(errs, secretTypeData(s, data)...)
}

// secretTypeData checks that the keys are there that the type promises.
func secretTypeData(s *corev1.Secret, data *field.Path) field.ErrorList {
	missing := func(key string) field.ErrorList {
		return field.ErrorList{field.Required(data.Key(key), "")}
	}
	has := func(key string) bool { _, ok := s.Data[key]; return ok }
	var errs field.ErrorList
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(metadataPath().Child("annotations").Key(corev1.ServiceAccountNameKey), ""))
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
	var parsed any
	if err := json.Unmarshal(value, &parsed); err != nil {
		return field.ErrorList{field.Invalid(at, "<secret contents redacted>", err.Error())}
	}
	return nil
}

func validateSecretUpdate(obj, old Object) field.ErrorList {
	s, was := obj.(*corev1.Secret), old.(*corev1.Secret)
	errs := validation.ValidateImmutableField(s.Type, was.Type, field.NewPath("type"))
	if was.Immutable == nil || !*was.Immutable {
		return errs
	}
	if s.Immutable == nil || !*s.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), immutableMessage))
	}
	if !equality.Semantic.DeepEqual(s.Data, was.Data) {
		errs = append(errs, field.Forbidden(field.NewPath("data"), immutableMessage))
	}
	return errs
}

// secretWarnings tells of certificates that no server could use.
func secretWarnings(obj, _ Object) []string {
	s := obj.(*corev1.Secret)
	if s.Type != corev1.SecretTypeTLS || len(secretTypeData(s, nil)) > 0 {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}
