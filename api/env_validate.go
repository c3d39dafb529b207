package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

func (c *podCheck) envRules(at *place, list []corev1.EnvVar) {
	for i := range list {
		needs(at.item(i).of("name"), list[i].Name, utilvalidation.IsRelaxedEnvVarName)
		if list[i].ValueFrom != nil {
			c.envSourceRules(at.item(i).of("valueFrom"), &list[i])
		}
	}
}

func (c *podCheck) envSourceRules(at *place, v *corev1.EnvVar) {
	n, from := 0, v.ValueFrom
	if from.FieldRef != nil {
		n++
		fieldRefRules(at.of("fieldRef"), from.FieldRef, envFields)
	}
	if from.ResourceFieldRef != nil {
		n++
		resourceRefRules(at.of("resourceFieldRef"), from.ResourceFieldRef, false)
	}
	if r := from.ConfigMapKeyRef; r != nil {
		n++
		keyRefRules(at.of("configMapKeyRef"), r.Name, r.Key)
	}
	if r := from.SecretKeyRef; r != nil {
		n++
		keyRefRules(at.of("secretKeyRef"), r.Name, r.Key)
	}
	if from.FileKeyRef != nil {
		n++
		fileKeyRules(at.of("fileKeyRef"), from.FileKeyRef)
	}
	switch {
	case n == 0:
		at.invalid("", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`")
	case v.Value != "":
		at.invalid("", "may not be specified when `value` is not empty")
	case n > 1:
		at.invalid("", "may not have more than one field specified at a time")
	}
}

// keyRefRules are for a key in an object of the same namespace.
func keyRefRules(at *place, name, key string) {
	format(at.of("name"), name, dnsSubdomain)
	needs(at.of("key"), key, utilvalidation.IsConfigMapKey)
}

// fileKeyRules check a variable that is read from a file of an empty volume.
func fileKeyRules(at *place, r *corev1.FileKeySelector) {
	needs(at.of("key"), r.Key, utilvalidation.IsRelaxedEnvVarName)
	needs(at.of("volumeName"), r.VolumeName, dnsLabel)
	if required(at.of("path"), r.Path) {
		noBacksteps(at.of("path"), r.Path)
	}
}

// fileVolumeRules check the volumes of variables that are read from files.
func fileVolumeRules(at *place, s *corev1.PodSpec) {
	visitContainers(at, s, func(at *place, ctr *corev1.Container) {
		for i, v := range ctr.Env {
			if v.ValueFrom == nil || v.ValueFrom.FileKeyRef == nil {
				continue
			}
			name := v.ValueFrom.FileKeyRef.VolumeName
			at := at.of("env").item(i).of("valueFrom").of("fileKeyRef").of("volumeName")
			switch source := lastVolume(s.Volumes, name); {
			case source == nil:
				at.notFound(name)
			case source.EmptyDir == nil:
				at.invalid(name, "referenced volume must be of type emptyDir")
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

func envFromRules(at *place, list []corev1.EnvFromSource) {
	for i := range list {
		e, item := &list[i], at.item(i)
		optional(item.of("prefix"), e.Prefix, utilvalidation.IsRelaxedEnvVarName)
		n := 0
		if r := e.ConfigMapRef; r != nil {
			n++
			objectName(item.of("configMapRef").of("name"), r.Name)
		}
		if r := e.SecretRef; r != nil {
			n++
			objectName(item.of("secretRef").of("name"), r.Name)
		}
		// The fault is put down to the list.
		switch {
		case n == 0:
			at.invalid("", "must specify one of: `configMapRef` or `secretRef`")
		case n > 1:
			at.invalid("", "may not have more than one field specified at a time")
		}
	}
}

// objectName is the beginning of a name, or one.
func objectName(at *place, name string) {
	if required(at, name) {
		for _, fault := range subdomainName(name, true) {
			at.invalid(name, fault)
		}
	}
}

// Fields of a pod that its containers can be told, in alphabetical order.
const (
	envFields = "metadata.name metadata.namespace metadata.uid spec.nodeName spec.serviceAccountName " +
		"status.hostIP status.hostIPs status.podIP status.podIPs"
	volumeFields = "metadata.annotations metadata.labels metadata.name metadata.namespace metadata.uid"
	allPodFields = " metadata.annotations metadata.labels metadata.name metadata.namespace metadata.uid spec.nodeName " +
		"spec.restartPolicy spec.serviceAccountName spec.schedulerName status.phase status.hostIP status.hostIPs status.podIP status.podIPs "
)

// fieldRefRules are for a field of the pod itself; fields are those allowed.
func fieldRefRules(at *place, r *corev1.ObjectFieldSelector, fields string) {
	if !required(at.of("apiVersion"), r.APIVersion) || !required(at.of("fieldPath"), r.FieldPath) {
		return
	}
	if r.APIVersion != corev1.SchemeGroupVersion.Version {
		at.of("fieldPath").invalid(r.FieldPath, "error converting fieldPath: unsupported pod version: "+r.APIVersion)
		return
	}
	path, subscript, subscripted := subscript(r.FieldPath)
	if subscripted {
		switch path {
		case "metadata.annotations":
			format(at, strings.ToLower(subscript), qualifiedName)
		case "metadata.labels":
			format(at, subscript, qualifiedName)
		default:
			at.of("fieldPath").invalid(r.FieldPath, "error converting fieldPath: field label does not support subscript: "+r.FieldPath)
		}
		return
	}
	if path == "spec.host" {
		path = "spec.nodeName"
	}
	if strings.Contains(path, " ") || !strings.Contains(allPodFields, " "+path+" ") {
		at.of("fieldPath").invalid(r.FieldPath, "error converting fieldPath: field label not supported: "+r.FieldPath)
		return
	}
	if !strings.Contains(" "+fields+" ", " "+path+" ") {
		oneOf(at.of("fieldPath"), path, strings.Fields(fields)...)
	}
}

// subscript splits a path such as metadata.labels['a'].
func subscript(path string) (string, string, bool) {
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

// resourceRefRules are for what a container may use, as it is told to it.
func resourceRefRules(at *place, r *corev1.ResourceFieldSelector, inVolume bool) {
	hugePages := strings.HasPrefix(r.Resource, "limits.hugepages-") || strings.HasPrefix(r.Resource, "requests.hugepages-")
	switch {
	case inVolume && r.ContainerName == "":
		at.of("containerName").required("")
	case r.Resource == "":
		at.of("resource").required("")
	case !hugePages:
		oneOf(at.of("resource"), r.Resource, "limits.cpu", "limits.ephemeral-storage", "limits.memory",
			"requests.cpu", "requests.ephemeral-storage", "requests.memory")
	}
	if r.Divisor.Cmp(resource.Quantity{}) == 0 {
		return
	}
	bytes := func(what string) {
		if !byteUnit(r.Divisor.String()) {
			at.of("divisor").invalid(r.Resource, "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the "+what+" resource")
		}
	}
	switch r.Resource {
	case "limits.cpu", "requests.cpu":
		if s := r.Divisor.String(); s != "1m" && s != "1" {
			at.of("divisor").invalid(r.Resource, "only divisor's values 1m and 1 are supported with the cpu resource")
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

// byteUnit tells whether a quantity is a unit of bytes, such as 1Ki.
func byteUnit(s string) bool {
	unit, ok := strings.CutPrefix(s, "1")
	switch unit {
	case "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei":
		return ok
	}
	return false
}
