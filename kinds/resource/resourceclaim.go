package resource

import (
	"regexp"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/table"
	"github.com/miniapiserver/miniapiserver/api/validation"
)

// ResourceClaim describes the kind ResourceClaim, which requests devices and records their
// allocation.
func ResourceClaim(rules *Rules) *api.Resource {
	return api.NewResource(api.Kind[*resourcev1.ResourceClaim]{
		Names: api.Names{Name: "resourceclaims", Singular: "resourceclaim", Kind: "ResourceClaim", Namespaced: true},
		Versions: api.WithOlderVersions(api.Served(resourcev1.SchemeGroupVersion),
			api.SameFields[resourcev1.ResourceClaim, resourcev1beta2.ResourceClaim](resourcev1beta2.SchemeGroupVersion),
			claimV1beta1()),
		Default: defaultClaim,
		Storage: api.Storage{Prefix: "resourceclaims"},
		Checks: api.Checks(
			api.OnCreate(api.WithAccess(checkClaimAccess)),
			api.Metadata,
			api.Changes(resourceClaimChanges),
			api.RevalidatedMetadata,
			api.OnCreate(api.Rules(rules.resourceClaimRules)),
			api.Declared,
		),
		Status: api.NewStatus(
			prepareClaimStatus,
			api.WithAccess(rules.checkClaimStatusAccess), api.Metadata, api.Changes(rules.resourceClaimStatusRules), api.Declared,
		).WithoutTable(),
		Reset:  map[string][]string{"status": {"metadata", "spec"}},
		Delete: api.Deletion{ReturnDeletedObject: true},
		Table:  api.Rows(resourceClaimRow),
	})
}

func resourceClaimRow(row *table.Row, c *resourcev1.ResourceClaim) {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	switch {
	case c.Status.Allocation != nil && len(c.Status.ReservedFor) > 0:
		states = append(states, "allocated", "reserved")
	case c.Status.Allocation != nil:
		states = append(states, "allocated")
	case c.DeletionTimestamp == nil:
		states = append(states, "pending")
	}
	row.Name(c.Name)
	row.Text("State", "A summary of the current state (allocated, pending, reserved, etc.).", strings.Join(states, ","))
	row.Age(c)
}

// In v1beta1 the fields of v1's field "exactly" are fields of the request itself.

func claimV1beta1() api.Version {
	v := api.ConvertedVersion(resourcev1beta1.SchemeGroupVersion,
		func(hub *resourcev1.ResourceClaim, old *resourcev1beta1.ResourceClaim) {
			requestsToHub(hub.Spec.Devices.Requests, old.Spec.Devices.Requests)
		},
		func(old *resourcev1beta1.ResourceClaim, hub *resourcev1.ResourceClaim) {
			requestsFromHub(old.Spec.Devices.Requests, hub.Spec.Devices.Requests)
		})
	v.HubPath = exactPath
	v.HubDefault = func(obj api.Object) {
		c := obj.(*resourcev1.ResourceClaim)
		defaultDeviceClaimV1beta1(&c.Spec.Devices)
		defaultResults(c)
	}
	return v
}

func claimTemplateV1beta1() api.Version {
	v := api.ConvertedVersion(resourcev1beta1.SchemeGroupVersion,
		func(hub *resourcev1.ResourceClaimTemplate, old *resourcev1beta1.ResourceClaimTemplate) {
			requestsToHub(hub.Spec.Spec.Devices.Requests, old.Spec.Spec.Devices.Requests)
		},
		func(old *resourcev1beta1.ResourceClaimTemplate, hub *resourcev1.ResourceClaimTemplate) {
			requestsFromHub(old.Spec.Spec.Devices.Requests, hub.Spec.Spec.Devices.Requests)
		})
	v.HubPath = exactPath
	v.HubDefault = func(obj api.Object) {
		defaultDeviceClaimV1beta1(&obj.(*resourcev1.ResourceClaimTemplate).Spec.Spec.Devices)
	}
	return v
}

// requestField matches the path of a field of a request in v1beta1 that is in "exactly" in v1.
var requestField = regexp.MustCompile(`\.requests\[\d+\]\.(deviceClassName|selectors|allocationMode|count|adminAccess|tolerations|capacity|derivedAttributes)\b`)

// exactPath converts the path of a field of a claim from v1beta1 to v1.
func exactPath(path string) string {
	if m := requestField.FindStringSubmatchIndex(path); m != nil {
		return path[:m[2]] + "exactly." + path[m[2]:]
	}
	return path
}

func requestsToHub(hub []resourcev1.DeviceRequest, old []resourcev1beta1.DeviceRequest) {
	for i := range old {
		if hasExactFields(&old[i]) {
			hub[i].Exactly = &resourcev1.ExactDeviceRequest{}
			api.CopyFields(hub[i].Exactly, &old[i])
			if len(old[i].Tolerations) == 0 {
				hub[i].Exactly.Tolerations = nil // messages that quote the object show null
			}
		}
	}
}

func requestsFromHub(old []resourcev1beta1.DeviceRequest, hub []resourcev1.DeviceRequest) {
	for i := range hub {
		if exactly := hub[i].Exactly; exactly != nil {
			api.CopyFields(&old[i], exactly)
		}
	}
}

// hasExactFields reports whether any field is set that v1 has in "exactly". Validation
// checks the fields.
func hasExactFields(r *resourcev1beta1.DeviceRequest) bool {
	return r.DeviceClassName != "" || r.Selectors != nil || r.AllocationMode != "" || r.Count != 0 ||
		r.AdminAccess != nil || r.Tolerations != nil || r.Capacity != nil || r.DerivedAttributes != nil
}

// allocatedDevice identifies a device, or a share of one, that is allocated to a claim. Messages
// quote it as JSON.
type allocatedDevice struct {
	Driver, Pool, Device, ShareID string
}

// reportedDevice returns the device whose status d is.
func reportedDevice(d *resourcev1.AllocatedDeviceStatus) allocatedDevice {
	a := allocatedDevice{Driver: d.Driver, Pool: d.Pool, Device: d.Device}
	if d.ShareID != nil {
		a.ShareID = *d.ShareID
	}
	return a
}

// allocatedDevices returns the devices of an allocation, which may be nil.
func allocatedDevices(a *resourcev1.AllocationResult) map[allocatedDevice]bool {
	devices := map[allocatedDevice]bool{}
	if a == nil {
		return devices
	}
	for _, r := range a.Devices.Results {
		d := allocatedDevice{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
		if r.ShareID != nil {
			d.ShareID = string(*r.ShareID)
		}
		devices[d] = true
	}
	return devices
}

// prepareClaimStatus keeps metadata, and drops the status of devices that are no longer
// allocated.
func prepareClaimStatus(obj, old *resourcev1.ResourceClaim) {
	api.KeepMetadataOf(obj, old)
	s := &obj.Status
	before, now := allocatedDevices(old.Status.Allocation), allocatedDevices(s.Allocation)
	var kept []resourcev1.AllocatedDeviceStatus
	for i := range s.Devices {
		if id := reportedDevice(&s.Devices[i]); now[id] || !before[id] {
			kept = append(kept, s.Devices[i])
		}
	}
	s.Devices = kept
}

func (r *Rules) resourceClaimStatusRules(at *validation.Path, obj, old *resourcev1.ResourceClaim) {
	at, s := at.Child("status"), &obj.Status
	c := r.newClaimedDevices(&obj.Spec.Devices)
	reserved := at.Child("reservedFor")
	eachDistinct(reserved, s.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize,
		func(r *resourcev1.ResourceClaimConsumerReference) types.UID { return r.UID },
		func(at *validation.Path, r *resourcev1.ResourceClaimConsumerReference) {
			validation.Required(at.Child("resource"), r.Resource)
			validation.Required(at.Child("name"), r.Name)
			validation.Required(at.Child("uid"), r.UID)
		})
	c.deviceStatusRules(at.Child("devices"), s)
	if len(s.ReservedFor) > 0 {
		added := slices.ContainsFunc(s.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
			return !slices.Contains(old.Status.ReservedFor, r)
		})
		switch {
		case s.Allocation == nil:
			reserved.Forbidden("may not be specified when `allocated` is not set")
		case obj.DeletionTimestamp != nil && added:
			reserved.Forbidden("new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set")
		}
	}
	switch allocation := at.Child("allocation"); {
	case s.Allocation == nil:
	case old.Status.Allocation == nil:
		c.allocationRules(allocation, s.Allocation)
	case !equality.Semantic.DeepEqual(s.Allocation, old.Status.Allocation):
		// The origin is that of the declarative rule, which takes the place of this one.
		allocation.Add(field.Invalid(allocation.ToField(), validation.InternalForm(s.Allocation),
			apivalidation.FieldImmutableErrorMsg).WithOrigin("update"))
	}
}

func (c *claimedDevices) deviceStatusRules(at *validation.Path, s *resourcev1.ResourceClaimStatus) {
	allocated := allocatedDevices(s.Allocation)
	eachDistinct(at, s.Devices, len(s.Devices), reportedDevice, func(at *validation.Path, d *resourcev1.AllocatedDeviceStatus) {
		validation.DriverName(at.Child("driver"), d.Driver)
		poolName(at.Child("pool"), d.Pool)
		validation.Format(at.Child("device"), d.Device, validation.DNSLabel)
		if d.ShareID != nil {
			uidRules(at.Child("shareID"), *d.ShareID)
		}
		if !allocated[reportedDevice(d)] {
			at.Invalid(reportedDevice(d), "must be an allocated device in the claim")
		}
		if len(d.Conditions) > resourcev1.AllocatedDeviceStatusMaxConditions {
			at.Child("conditions").TooMany(len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions)
		}
		validation.ConditionRules(at.Child("conditions"), d.Conditions)
		if d.Data != nil && len(d.Data.Raw) > 0 {
			rawObjectRules(at.Child("data"), *d.Data, false, resourcev1.AllocatedDeviceStatusDataMaxLength)
		}
		validation.IfPresent(at.Child("networkData"), d.NetworkData, networkDeviceRules)
	})
}

func networkDeviceRules(at *validation.Path, d *resourcev1.NetworkDeviceData) {
	if len(d.InterfaceName) > resourcev1.NetworkDeviceDataInterfaceNameMaxLength {
		at.Child("interfaceName").TooLong(resourcev1.NetworkDeviceDataInterfaceNameMaxLength)
	}
	if len(d.HardwareAddress) > resourcev1.NetworkDeviceDataHardwareAddressMaxLength {
		at.Child("hardwareAddress").TooLong(resourcev1.NetworkDeviceDataHardwareAddressMaxLength)
	}
	eachDistinct(at.Child("ips"), d.IPs, resourcev1.NetworkDeviceDataMaxIPs, stringKey, func(at *validation.Path, ip *string) {
		at.Add(utilvalidation.IsValidInterfaceAddress(at.ToField(), *ip)...)
	})
}

// uidRules requires a UUID in normalized form.
func uidRules(at *validation.Path, uid string) {
	if len(uid) != 36 || uid != strings.ToLower(uid) || strings.Trim(uid, "0123456789abcdef-") != "" || strings.Count(uid, "-") != 4 {
		at.InvalidOrigin("format=k8s-uuid", uid, "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters")
	}
}

func (c *claimedDevices) allocationRules(at *validation.Path, a *resourcev1.AllocationResult) {
	EachUpTo(at.Child("devices").Child("results"), a.Devices.Results, resourcev1.AllocationResultsMaxSize,
		func(at *validation.Path, r *resourcev1.DeviceRequestAllocationResult) {
			c.requestRef(at.Child("request"), r.Request)
			validation.DriverName(at.Child("driver"), r.Driver)
			poolName(at.Child("pool"), r.Pool)
			validation.Format(at.Child("device"), r.Device, validation.DNSLabel)
			bindingConditionRules(at, r.BindingConditions, r.BindingFailureConditions)
			validation.Each(at.Child("tolerations"), r.Tolerations, deviceTolerationRules)
			if r.ShareID != nil {
				uidRules(at.Child("shareID"), string(*r.ShareID))
			}
			skipsRules(at.Child("skipNodeOperations"), r.SkipNodeOperations)
		})
	// The limit is double since the list has the configuration of the class and of the claim.
	EachUpTo(at.Child("devices").Child("config"), a.Devices.Config, 2*resourcev1.DeviceConfigMaxSize,
		func(at *validation.Path, config *resourcev1.DeviceAllocationConfiguration) {
			validation.Enum(at.Child("source"), config.Source, resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass)
			c.requestRefs(at.Child("requests"), config.Requests)
			deviceConfigRules(at, &config.DeviceConfiguration, false)
		})
	if a.NodeSelector != nil {
		validation.NodeSelectorRules(at.Child("nodeSelector"), a.NodeSelector, false)
	}
}

// bindingConditionRules requires that binding conditions and binding failure conditions
// are both set, or neither, and are distinct.
func bindingConditionRules(at *validation.Path, conditions, failures []string) {
	for _, f := range []struct {
		name  string
		list  []string
		limit int
	}{
		{"bindingConditions", conditions, resourcev1.BindingConditionsMaxSize},
		{"bindingFailureConditions", failures, resourcev1.BindingFailureConditionsMaxSize},
	} {
		EachUpTo(at.Child(f.name), f.list, f.limit,
			func(at *validation.Path, name *string) { validation.Format(at, *name, validation.QualifiedName) })
	}
	var seen, failed validation.Unique[string]
	for i, c := range conditions {
		seen.Add(at.Child("bindingConditions").Index(i), c)
	}
	for i, c := range failures {
		at := at.Child("bindingFailureConditions").Index(i)
		failed.Add(at, c)
		if seen.Has(c) {
			at.Invalid(c, "bindingFailureConditions must not overlap with bindingConditions")
		}
	}
	if len(conditions) == 0 && len(failures) > 0 {
		at.Child("bindingConditions").Invalid(conditions, "bindingConditions are required to use bindingFailureConditions")
	}
	if len(failures) == 0 && len(conditions) > 0 {
		at.Child("bindingFailureConditions").Invalid(failures, "bindingFailureConditions are required to use bindingConditions")
	}
}

// poolName requires one or more DNS subdomains, separated by slashes.
func poolName(at *validation.Path, name string) {
	if !validation.Required(at, name) {
		return
	}
	if len(name) > resourcev1.PoolNameMaxLength {
		at.TooLong(resourcev1.PoolNameMaxLength)
	}
	for _, part := range strings.Split(name, "/") {
		validation.FormatOf(at, part, "k8s-resource-pool-name", validation.DNSSubdomain)
	}
}
