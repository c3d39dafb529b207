package attempts

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// share returns the share of all values to try, in percent.
func share(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ATTEMPTS")
	if text == "" {
		return 4
	}
	percent, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("ATTEMPTS: %v", err)
	}
	return percent
}

// TestOneOff creates objects and writes statuses in which one value differs from a valid object. None
// may end in an internal error, and a refusal must have a cause at the field.
func TestOneOff(t *testing.T) {
	c := startServer(t)
	percent := share(t)
	for _, k := range c.kinds() {
		if k.Kind == "Binding" {
			continue // which needs a pod
		}
		t.Run(k.String(), func(t *testing.T) {
			c := &client{t, c.url, c.token, c.http}
			random := seeded(k.String())
			stored := c.storeBase(k)
			for _, f := range k.fields() {
				for _, value := range f.Mistyped() {
					if random.IntN(100) < percent {
						c.tryMistyped(k, f, value)
					}
				}
				for _, value := range append(f.Valid(), f.Off()...) {
					if random.IntN(100) < percent {
						c.tryValue(k, f, value, stored)
					}
				}
			}
		})
	}
}

// seeded returns a generator that depends on a name, so that all runs make the same attempts.
func seeded(name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(h.Sum64(), 1))
}

// fields returns the fields of a kind. A field that many kinds share is tried in one
// of them.
func (k *kind) fields() []Field {
	return k.document.Fields(k.schema, 2, func(definition string) bool {
		switch lastSegment(definition) {
		case "PodSpec":
			return k.Kind != "Pod"
		case "ObjectMeta":
			return k.Kind != "ConfigMap"
		case "JSONSchemaProps":
			return true
		}
		return false
	})
}

// storeBase stores the valid object of a kind, which updates change.
func (c *client) storeBase(k *kind) map[string]any {
	c.t.Helper()
	if !k.hasStatus {
		return nil
	}
	a := c.do(http.MethodPost, k.path, jsonType, k.base)
	if a.code != http.StatusCreated {
		c.t.Fatalf("%s: %d %s", k.path, a.code, a.status.Message)
	}
	c.t.Cleanup(func() { c.do(http.MethodDelete, k.on(k.base)+"?gracePeriodSeconds=0", jsonType, nil) })
	return a.object
}

func (c *client) tryMistyped(k *kind, f Field, value any) {
	c.t.Helper()
	if a := c.do(http.MethodPost, k.path+"?dryRun=All", jsonType, renamed(f.Set(k.base, value), f)); a.code != http.StatusBadRequest {
		c.t.Errorf("POST %s: %s = %v: %d %s", k, f, value, a.code, a.status.Message)
	}
}

// tryValue creates an object with the value, or writes it to the status of the stored one.
func (c *client) tryValue(k *kind, f Field, value any, stored map[string]any) {
	c.t.Helper()
	var a answer
	verb := "POST"
	if f.Path[0] == "status" && k.hasStatus {
		verb = "PUT status of"
		a = c.do(http.MethodPut, k.on(stored)+"/status?dryRun=All", jsonType, f.Set(stored, value))
	} else {
		a = c.do(http.MethodPost, k.path+"?dryRun=All", jsonType, renamed(f.Set(k.base, value), f))
	}
	if fault := k.fault(f, a); fault != "" {
		c.t.Errorf("%s %s: %s = %.80s: %s", verb, k, f, fmt.Sprintf("%#v", value), fault)
	}
}

// renamed gives the object another name than that of the stored one, if the name is free to choose.
func renamed(object map[string]any, f Field) map[string]any {
	metadata := metadataOf(object)
	if metadata["name"] != "base" || f.Path[0] == "metadata" {
		return object
	}
	other := map[string]any{}
	for key, value := range metadata {
		other[key] = value
	}
	other["name"] = "other"
	object["metadata"] = other
	return object
}

var index = regexp.MustCompile(`\[[^\]]*\]`)

// elsewhere are fields whose errors kube-apiserver reports at another path, or without causes: the
// beginnings of "KIND FIELD" and of the path or the message.
var elsewhere = [][2]string{
	{"APIService spec.", "metadata.name"},
	{"ClusterTrustBundle spec.signerName", "metadata.name"},
	{"ConfigMap metadata.namespace", "the namespace of the provided object does not match"},
	{"CustomResourceDefinition spec.conversion", "spec.conversion"},
	{"CustomResourceDefinition spec.names", "metadata.name"},
	{"CustomResourceDefinition spec.group", "metadata.name"},
	{"CustomResourceDefinition spec.versions[].additionalPrinterColumns", "spec.additionalPrinterColumns"},
	{"CustomResourceDefinition spec.versions[].schema", "spec.validation"},
	{"CustomResourceDefinition spec.versions[].selectableFields", "spec.selectableFields"},
	{"CustomResourceDefinition spec.versions[].subresources", "spec.subresources"},
	{"DaemonSet spec.selector", "spec.template.metadata.labels"},
	{"Deployment spec.selector", "spec.template.metadata.labels"},
	{"EndpointSlice addressType", "endpoints.addresses"},
	{"Event deprecatedCount", "count"},
	{"Event deprecatedFirstTimestamp", "firstTimestamp"},
	{"Event deprecatedLastTimestamp", "lastTimestamp"},
	{"Event deprecatedSource", "source"},
	{"Event eventTime", "reportingComponent"},
	{"Event regarding", "involvedObject"},
	{"Node spec.taints", "metadata.taints"},
	{"PersistentVolume spec.gcePersistentDisk", "spec.persistentDisk"},
	{"PersistentVolume spec.local", "spec.nodeAffinity"},
	{"PersistentVolume spec.storageos.secretRef", "spec.storageos.volumeName"},
	{"Pod spec.runtimeClassName", "pods \"other\" is forbidden: pod rejected: RuntimeClass"},
	{"Pod spec.volumes[].configMap.items", "spec.volumes.configMap.name"},
	{"Pod spec.volumes[].downwardAPI.items", "spec.volumes.downwardAPI"},
	{"Pod spec.volumes[].ephemeral.volumeClaimTemplate.spec", "spec.volumes.ephemeral.volumeClaimTemplate.spec"},
	{"Pod spec.volumes[].gcePersistentDisk", "spec.volumes.persistentDisk"},
	{"Pod spec.volumes[].projected.sources[].configMap.items", "spec.volumes.projected.sources.configMap.name"},
	{"Pod spec.volumes[].projected.sources[].downwardAPI.items", "spec.volumes.projected.sources.downwardAPI"},
	{"Pod spec.volumes[].name", "spec.containers.volumeMounts"},
	{"Pod status.", "status.containerStatuses.linux"},
	{"Pod status.", "status.ephemeralContainerStatuses.linux"},
	{"Pod status.", "status.initContainerStatuses.linux"},
	{"ReplicaSet spec.selector", "spec.template.metadata.labels"},
	{"ResourceClaim spec.devices.requests[].", "spec.devices.requests"},
	{"ResourceClaimTemplate spec.spec.devices.requests[].", "spec.devices.requests.adminAccess"},
	{"ResourceClaimTemplate spec.spec.devices.requests[].", "spec.spec.devices.requests"}, // of another version
	{"ResourceSlice spec.devices[].basic", "spec.devices"},
	{"Secret stringData", "data"},
	{"SelfSubjectRulesReview spec", "no namespace on request"},
	{"StatefulSet spec.selector", "spec.template.metadata.labels"},
	{"StatefulSet spec.volumeClaimTemplates", "spec.template.spec.volumes"},
	{"StorageVersion status.conditions", "status"},
	{"StorageVersion status.storageVersions", "status.commonEncodingVersion"},
	{"TokenReview spec", "token is required"},
}

// fault returns what is wrong with the answer to an attempt, or "".
func (k *kind) fault(f Field, a answer) string {
	if a.ok() || a.code == http.StatusConflict { // which a name has that is taken
		return ""
	}
	at := plain(f.String())
	parent := at[:max(strings.LastIndexByte(at, '.'), 0)]
	others := []string{at}
	for _, e := range elsewhere {
		if !strings.HasPrefix(k.Kind+" "+f.String(), e[0]) {
			continue
		}
		if a.code < 500 && strings.HasPrefix(a.status.Message, e[1]) {
			return ""
		}
		others = append(others, e[1])
	}
	if a.code != http.StatusUnprocessableEntity {
		return fmt.Sprintf("%d %.300s", a.code, a.status.Message)
	}
	for _, cause := range a.causes() {
		field := plain(cause.Field)
		for _, at := range others {
			if within(field, at) || within(at, field) || parent != "" && within(field, parent) {
				return ""
			}
		}
	}
	return fmt.Sprintf("no cause at the field: %.300s", a.status.Message)
}

// plain returns a path without indices and keys.
func plain(path string) string {
	return strings.TrimSuffix(index.ReplaceAllString(strings.NewReplacer(Item, "", Value, "").Replace(path), ""), ".")
}

// within reports whether a path is another one or below it.
func within(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.')
}
