package api

import (
	"crypto/sha256"
	"encoding/base64"
)

// StorageVersionHash tells clients which version is stored, without telling
// them its name. It is empty for resources that are not stored.
func StorageVersionHash(r *Resource) string {
	if r.Virtual != nil {
		return ""
	}
	// The hash is over the version whose form the value has, which is what
	// kube-apiserver calls the resource's encoding version.
	gv := r.StoredVersion()
	sum := sha256.Sum256([]byte(gv.Group + "/" + gv.Version + "/" + r.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
