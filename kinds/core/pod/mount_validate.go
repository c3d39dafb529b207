package pod

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapiserver/miniapiserver/api/validation"
)

// mountRules validates the volume mounts of a container. As in kube-apiserver, some errors
// have the path of the list.
func (c *podCheck) mountRules(at *validation.Path, ctr *corev1.Container) {
	var paths validation.Unique[string]
	devices := devicePaths(ctr)
	occupied := pathSet(devices)
	for i := range ctr.VolumeMounts {
		m, item := &ctr.VolumeMounts[i], at.Index(i)
		validation.Required(item.Child("name"), m.Name)
		if c.volume(m.Name) == nil {
			item.Child("name").NotFound(m.Name)
		}
		validation.Required(item.Child("mountPath"), m.MountPath)
		if paths.Has(m.MountPath) {
			item.Child("mountPath").Invalid(m.MountPath, "must be unique")
		}
		paths.Insert(m.MountPath)
		if _, ok := devices[m.Name]; ok {
			item.Child("name").Invalid(m.Name, "must not already exist in volumeDevices")
		}
		if occupied[m.MountPath] {
			item.Child("mountPath").Invalid(m.MountPath, "must not already exist as a path in volumeDevices")
		}
		if m.SubPath != "" {
			descendingPath(at.Child("subPath"), m.SubPath)
		}
		if m.SubPathExpr != "" {
			if m.SubPath != "" {
				item.Child("subPathExpr").Invalid(m.SubPathExpr, "subPathExpr and subPath are mutually exclusive")
			}
			descendingPath(at.Child("subPathExpr"), m.SubPathExpr)
		}
		if m.MountPropagation != nil {
			propagationRules(at.Child("mountPropagation"), *m.MountPropagation, ctr)
		}
		if m.RecursiveReadOnly != nil {
			readOnlyRules(at.Child("recursiveReadOnly"), m)
		}
		c.bindOptionRules(item.Child("bindMountOptions"), m)
	}
}

func (c *podCheck) bindOptionRules(at *validation.Path, m *corev1.VolumeMount) {
	if len(m.BindMountOptions) == 0 {
		return
	}
	var seen validation.Unique[string]
	for i, option := range m.BindMountOptions {
		validation.OneOf(at.Index(i), corev1.BindMountOption(option),
			corev1.BindMountOptionNoDev, corev1.BindMountOptionNoExec, corev1.BindMountOptionNoSUID)
		seen.Add(at.Index(i), option)
	}
	if v := c.volume(m.Name); v != nil && v.Image != nil {
		at.Invalid(m.BindMountOptions, "bindMountOptions may not be used with image volumes")
	}
}

// volume returns the volume of a name, or nil if it is missing or invalid.
func (c *podCheck) volume(name string) *corev1.Volume {
	if v := c.volumes.First(name); v != nil {
		return *v
	}
	return nil
}

// devicePaths returns the paths of the block devices of a container, by volume. If a volume
// occurs twice, the last path counts.
func devicePaths(ctr *corev1.Container) map[string]string {
	if len(ctr.VolumeDevices) == 0 {
		return nil
	}
	paths := make(map[string]string, len(ctr.VolumeDevices))
	for _, d := range ctr.VolumeDevices {
		paths[d.Name] = d.DevicePath
	}
	return paths
}

// mountPaths returns the mount paths of a container, by volume.
func mountPaths(ctr *corev1.Container) map[string]string {
	if len(ctr.VolumeMounts) == 0 {
		return nil
	}
	paths := make(map[string]string, len(ctr.VolumeMounts))
	for _, m := range ctr.VolumeMounts {
		paths[m.Name] = m.MountPath
	}
	return paths
}

// pathSet returns the values of paths.
func pathSet(paths map[string]string) map[string]bool {
	if len(paths) == 0 {
		return nil
	}
	set := make(map[string]bool, len(paths))
	for _, p := range paths {
		set[p] = true
	}
	return set
}

func propagationRules(at *validation.Path, mode corev1.MountPropagationMode, ctr *corev1.Container) {
	validation.OneOf(at, mode, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
	s := ctr.SecurityContext
	if mode == corev1.MountPropagationBidirectional && (s == nil || s.Privileged == nil || !*s.Privileged) {
		at.Forbidden("Bidirectional mount propagation is available only to privileged containers")
	}
}

func readOnlyRules(at *validation.Path, m *corev1.VolumeMount) {
	mode := *m.RecursiveReadOnly
	if !validation.OneOf(at, mode, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible) ||
		mode == corev1.RecursiveReadOnlyDisabled {
		return
	}
	if !m.ReadOnly {
		at.Forbidden("may only be specified when readOnly is true")
	}
	if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
		at.Forbidden("may only be specified when mountPropagation is None or not specified")
	}
}

// deviceRules validates the block devices of a container.
func (c *podCheck) deviceRules(at *validation.Path, ctr *corev1.Container) {
	var names, paths validation.Unique[string]
	if len(ctr.VolumeDevices) == 0 {
		return
	}
	mounts := mountPaths(ctr)
	occupied := pathSet(mounts)
	for i := range ctr.VolumeDevices {
		d, at := &ctr.VolumeDevices[i], at.Index(i)
		name, devicePath := at.Child("name"), at.Child("devicePath")
		validation.Required(name, d.Name)
		if names.Has(d.Name) {
			name.Invalid(d.Name, "must be unique")
		}
		switch v := c.volume(d.Name); {
		case v == nil:
			name.NotFound(d.Name)
		case v.PersistentVolumeClaim == nil && v.Ephemeral == nil:
			name.Invalid(d.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		}
		validation.Required(devicePath, d.DevicePath)
		if paths.Has(d.DevicePath) {
			devicePath.Invalid(d.DevicePath, "must be unique")
		}
		if d.DevicePath != "" && hasParentSegment(d.DevicePath) {
			devicePath.Invalid(d.DevicePath, "can not contain backsteps ('..')")
		} else {
			paths.Insert(d.DevicePath)
		}
		if _, ok := mounts[d.Name]; ok {
			name.Invalid(d.Name, "must not already exist in volumeMounts")
		}
		if occupied[d.DevicePath] {
			devicePath.Invalid(d.DevicePath, "must not already exist as a path in volumeMounts")
		}
		if d.Name != "" {
			names.Insert(d.Name)
		}
	}
}

// hasParentSegment reports whether a path contains "..".
func hasParentSegment(p string) bool {
	if !strings.Contains(p, "..") {
		return false
	}
	for _, part := range strings.Split(p, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// NoParentSegments validates that a path does not contain "..".
func NoParentSegments(at *validation.Path, p string) bool {
	if hasParentSegment(p) {
		at.Invalid(p, "must not contain '..'")
		return false
	}
	return true
}

// descendingPath validates a path relative to a volume.
func descendingPath(at *validation.Path, p string) {
	if path.IsAbs(p) {
		at.Invalid(p, "must be a relative path")
	}
	NoParentSegments(at, p)
}

// localPath validates the path of a file in a volume that the kubelet writes, which uses names
// that start with two dots itself.
func localPath(at *validation.Path, p string) {
	descendingPath(at, p)
	if strings.HasPrefix(p, "..") && !strings.HasPrefix(p, "../") {
		at.Invalid(p, "must not start with '..'")
	}
}
