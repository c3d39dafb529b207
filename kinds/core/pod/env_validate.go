package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/internal/features"
)

func (c *podCheck) envRules(at *validation.Path, list []corev1.EnvVar) {
	for i := range list {
		validation.RequiredFormat(at.Index(i).Child("name"), list[i].Name, utilvalidation.IsRelaxedEnvVarName)
		if list[i].ValueFrom != nil {
			c.envSourceRules(at.Index(i).Child("valueFrom"), &list[i])
		}
	}
}

func (c *podCheck) envSourceRules(at *validation.Path, v *corev1.EnvVar) {
	n, from := 0, v.ValueFrom
	if from.FieldRef != nil {
		n++
		fieldRefRules(at.Child("fieldRef"), from.FieldRef, envFields)
	}
	if from.ResourceFieldRef != nil {
		n++
		resourceRefRules(at.Child("resourceFieldRef"), from.ResourceFieldRef, false)
	}
	if r := from.ConfigMapKeyRef; r != nil {
		n++
		keyRefRules(at.Child("configMapKeyRef"), r.Name, r.Key)
	}
	if r := from.SecretKeyRef; r != nil {
		n++
		keyRefRules(at.Child("secretKeyRef"), r.Name, r.Key)
	}
	if from.FileKeyRef != nil {
		n++
		fileKeyRules(at.Child("fileKeyRef"), from.FileKeyRef)
	}
	switch {
	case n == 0 && (c.lenient.envFiles || at.Enabled(features.EnvFiles)):
		at.Invalid("", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`")
	case n == 0:
		at.Invalid("", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`")
	case v.Value != "":
		at.Invalid("", "may not be specified when `value` is not empty")
	case n > 1:
		at.Invalid("", "may not have more than one field specified at a time")
	}
}

// keyRefRules validates a reference to a key of a ConfigMap or Secret in the pod's namespace.
func keyRefRules(at *validation.Path, name, key string) {
	validation.Format(at.Child("name"), name, validation.DNSSubdomain)
	validation.RequiredFormat(at.Child("key"), key, utilvalidation.IsConfigMapKey)
}

// fileKeyRules validates a variable whose value is read from a file in an emptyDir volume.
func fileKeyRules(at *validation.Path, r *corev1.FileKeySelector) {
	validation.RequiredFormat(at.Child("key"), r.Key, utilvalidation.IsRelaxedEnvVarName)
	validation.RequiredFormat(at.Child("volumeName"), r.VolumeName, validation.DNSLabel)
	if validation.Required(at.Child("path"), r.Path) {
		NoParentSegments(at.Child("path"), r.Path)
	}
}

// fileVolumeRules validates that variables read files of emptyDir volumes only.
func fileVolumeRules(at *validation.Path, s *corev1.PodSpec) {
	visitContainers(at, s, func(at *validation.Path, ctr *corev1.Container) {
		for i, v := range ctr.Env {
			if v.ValueFrom == nil || v.ValueFrom.FileKeyRef == nil {
				continue
			}
			name := v.ValueFrom.FileKeyRef.VolumeName
			at := at.Child("env").Index(i).Child("valueFrom").Child("fileKeyRef").Child("volumeName")
			switch source := lastVolume(s.Volumes, name); {
			case source == nil:
				at.NotFound(name)
			case source.EmptyDir == nil:
				at.Invalid(name, "referenced volume must be of type emptyDir")
			}
		}
	})
}

// lastVolume returns the last volume of a name, valid or not.
func lastVolume(volumes []corev1.Volume, name string) *corev1.Volume {
	for i := len(volumes) - 1; i >= 0; i-- {
		if volumes[i].Name == name {
			return &volumes[i]
		}
	}
	return nil
}

func envFromRules(at *validation.Path, list []corev1.EnvFromSource) {
	for i := range list {
		e, item := &list[i], at.Index(i)
		validation.OptionalFormat(item.Child("prefix"), e.Prefix, utilvalidation.IsRelaxedEnvVarName)
		n := 0
		if r := e.ConfigMapRef; r != nil {
			n++
			objectName(item.Child("configMapRef").Child("name"), r.Name)
		}
		if r := e.SecretRef; r != nil {
			n++
			objectName(item.Child("secretRef").Child("name"), r.Name)
		}
		// The error has the path of the list.
		switch {
		case n == 0:
			at.Invalid("", "must specify one of: `configMapRef` or `secretRef`")
		case n > 1:
			at.Invalid("", "may not have more than one field specified at a time")
		}
	}
}

// objectName validates the name of a ConfigMap or Secret, or a prefix of one.
func objectName(at *validation.Path, name string) {
	if validation.Required(at, name) {
		for _, fault := range validation.SubdomainName(name, true) {
			at.Invalid(name, fault)
		}
	}
}

// Field paths that containers can refer to: in environment variables, in volumes, and all of
// them. OneOf lists them in this order in errors.
const (
	envFields = "metadata.name metadata.namespace metadata.uid spec.nodeName spec.serviceAccountName " +
		"status.hostIP status.hostIPs status.podIP status.podIPs"
	volumeFields = "metadata.annotations metadata.labels metadata.name metadata.namespace metadata.uid"
	allPodFields = " metadata.annotations metadata.labels metadata.name metadata.namespace metadata.uid spec.nodeName " +
		"spec.restartPolicy spec.serviceAccountName spec.schedulerName status.phase status.hostIP status.hostIPs status.podIP status.podIPs "
)

// fieldRefRules validates a reference to a field of the pod; fields are the allowed paths.
func fieldRefRules(at *validation.Path, r *corev1.ObjectFieldSelector, fields string) {
	if !validation.Required(at.Child("apiVersion"), r.APIVersion) || !validation.Required(at.Child("fieldPath"), r.FieldPath) {
		return
	}
	if r.APIVersion != corev1.SchemeGroupVersion.Version {
		at.Child("fieldPath").Invalid(r.FieldPath, "error converting fieldPath: unsupported pod version: "+r.APIVersion)
		return
	}
	path, subscript, subscripted := splitSubscript(r.FieldPath)
	if subscripted {
		switch path {
		case "metadata.annotations":
			validation.Format(at, strings.ToLower(subscript), validation.QualifiedName)
		case "metadata.labels":
			validation.Format(at, subscript, validation.QualifiedName)
		default:
			at.Child("fieldPath").Invalid(r.FieldPath, "error converting fieldPath: field label does not support subscript: "+r.FieldPath)
		}
		return
	}
	if path == "spec.host" {
		path = "spec.nodeName"
	}
	if strings.Contains(path, " ") || !strings.Contains(allPodFields, " "+path+" ") {
		at.Child("fieldPath").Invalid(r.FieldPath, "error converting fieldPath: field label not supported: "+r.FieldPath)
		return
	}
	if !strings.Contains(" "+fields+" ", " "+path+" ") {
		validation.OneOf(at.Child("fieldPath"), path, strings.Fields(fields)...)
	}
}

// splitSubscript splits a path such as metadata.labels['a'] into the path and the key.
func splitSubscript(path string) (string, string, bool) {
	rest, ok := strings.CutSuffix(path, "']")
	if !ok {
		return path, "", false
	}
	before, key, ok := strings.Cut(rest, "['")
	if !ok || before == "" {
		return path, "", false
	}
	return before, key, true
}

// resourceRefRules validates a reference to limits or requests of a container.
func resourceRefRules(at *validation.Path, r *corev1.ResourceFieldSelector, inVolume bool) {
	hugePages := strings.HasPrefix(r.Resource, "limits.hugepages-") || strings.HasPrefix(r.Resource, "requests.hugepages-")
	switch {
	case inVolume && r.ContainerName == "":
		at.Child("containerName").Required("")
	case r.Resource == "":
		at.Child("resource").Required("")
	case !hugePages:
		validation.OneOf(at.Child("resource"), r.Resource, "limits.cpu", "limits.ephemeral-storage", "limits.memory",
			"requests.cpu", "requests.ephemeral-storage", "requests.memory")
	}
	if r.Divisor.Cmp(resource.Quantity{}) == 0 {
		return
	}
	bytes := func(what string) {
		if !byteUnit(r.Divisor.String()) {
			at.Child("divisor").Invalid(r.Resource, "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the "+what+" resource")
		}
	}
	switch r.Resource {
	case "limits.cpu", "requests.cpu":
		if s := r.Divisor.String(); s != "1m" && s != "1" {
			at.Child("divisor").Invalid(r.Resource, "only divisor's values 1m and 1 are supported with the cpu resource")
		}
	case "limits.memory", "requests.memory":
		bytes("memory")
	case "limits.ephemeral-storage", "requests.ephemeral-storage":
		bytes("local ephemeral storage")
	}
	if hugePages {
		bytes("hugepages")
	}
}

// byteUnit reports whether a quantity is a unit of bytes, such as 1Ki.
func byteUnit(s string) bool {
	unit, ok := strings.CutPrefix(s, "1")
	switch unit {
	case "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei":
		return ok
	}
	return false
}
