package api

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
)

// allocatedDevice is a device, or a share of it, that a claim has.
type allocatedDevice struct {
	driver, pool, device, share string
}

// reportedDevice returns the device whose status d is.
func reportedDevice(d *resourcev1.AllocatedDeviceStatus) allocatedDevice {
	a := allocatedDevice{driver: d.Driver, pool: d.Pool, device: d.Device}
	if d.ShareID != nil {
		a.share = *d.ShareID
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
		d := allocatedDevice{driver: r.Driver, pool: r.Pool, device: r.Device}
		if r.ShareID != nil {
			d.share = string(*r.ShareID)
		}
		devices[d] = true
	}
	return devices
}

// prepareClaimStatus keeps metadata, and drops the status of devices that are
// not allocated any more.
func prepareClaimStatus(obj, old Object) {
	keepMetadataOf(obj, old)
	s := &obj.(*resourcev1.ResourceClaim).Status
	before, now := allocatedDevices(old.(*resourcev1.ResourceClaim).Status.Allocation), allocatedDevices(s.Allocation)
	var kept []resourcev1.AllocatedDeviceStatus
	for i := range s.Devices {
		if id := reportedDevice(&s.Devices[i]); now[id] || !before[id] {
			kept = append(kept, s.Devices[i])
		}
	}
	s.Devices = kept
}

// MarshalText is how messages name a device.
func (d allocatedDevice) MarshalText() ([]byte, error) {
	text := strings.Join([]string{d.driver, d.pool, d.device}, "/")
	if d.share != "" {
		text += "/" + d.share
	}
	return []byte(text), nil
}

func resourceClaimStatusRules(at *place, is, was *resourcev1.ResourceClaim) {
	at, s := at.of("status"), &is.Status
	c := newClaimedDevices(&is.Spec.Devices, false)
	reserved := at.of("reservedFor")
	distinct(reserved, s.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize,
		func(r *resourcev1.ResourceClaimConsumerReference) types.UID { return r.UID },
		func(at *place, r *resourcev1.ResourceClaimConsumerReference) {
			required(at.of("resource"), r.Resource)
			required(at.of("name"), r.Name)
			required(at.of("uid"), r.UID)
		})
	c.deviceStatusRules(at.of("devices"), s)
	if len(s.ReservedFor) > 0 {
		added := slices.ContainsFunc(s.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
			return !slices.Contains(was.Status.ReservedFor, r)
		})
		switch {
		case s.Allocation == nil:
			reserved.forbidden("may not be specified when `allocated` is not set")
		case is.DeletionTimestamp != nil && added:
			reserved.forbidden("new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set")
		}
	}
	switch allocation := at.of("allocation"); {
	case s.Allocation == nil:
	case was.Status.Allocation == nil:
		c.allocationRules(allocation, s.Allocation)
	case !equality.Semantic.DeepEqual(s.Allocation, was.Status.Allocation):
		fixed(allocation, s.Allocation, was.Status.Allocation)
	}
}

func (c *claimedDevices) deviceStatusRules(at *place, s *resourcev1.ResourceClaimStatus) {
	allocated := allocatedDevices(s.Allocation)
	distinct(at, s.Devices, len(s.Devices), reportedDevice, func(at *place, d *resourcev1.AllocatedDeviceStatus) {
		driverName(at.of("driver"), d.Driver)
		poolName(at.of("pool"), d.Pool)
		format(at.of("device"), d.Device, dnsLabel)
		if d.ShareID != nil {
			uidRules(at.of("shareID"), *d.ShareID)
		}
		if !allocated[reportedDevice(d)] {
			at.invalid(reportedDevice(d), "must be an allocated device in the claim")
		}
		if len(d.Conditions) > resourcev1.AllocatedDeviceStatusMaxConditions {
			at.of("conditions").tooMany(len(d.Conditions), resourcev1.AllocatedDeviceStatusMaxConditions)
		}
		conditionRules(at.of("conditions"), d.Conditions)
		if d.Data != nil && len(d.Data.Raw) > 0 {
			rawObjectRules(at.of("data"), *d.Data, false, resourcev1.AllocatedDeviceStatusDataMaxLength)
		}
		present(at.of("networkData"), d.NetworkData, networkDeviceRules)
	})
}

func networkDeviceRules(at *place, d *resourcev1.NetworkDeviceData) {
	if len(d.InterfaceName) > resourcev1.NetworkDeviceDataInterfaceNameMaxLength {
		at.of("interfaceName").tooLong(resourcev1.NetworkDeviceDataInterfaceNameMaxLength)
	}
	if len(d.HardwareAddress) > resourcev1.NetworkDeviceDataHardwareAddressMaxLength {
		at.of("hardwareAddress").tooLong(resourcev1.NetworkDeviceDataHardwareAddressMaxLength)
	}
	distinct(at.of("ips"), d.IPs, resourcev1.NetworkDeviceDataMaxIPs, itself, func(at *place, ip *string) {
		at.add(utilvalidation.IsValidInterfaceAddress(at.path(), *ip)...)
	})
}

// uidRules are for a UUID in the one form that all write alike.
func uidRules(at *place, uid string) {
	if len(uid) != 36 || uid != strings.ToLower(uid) || strings.Trim(uid, "0123456789abcdef-") != "" || strings.Count(uid, "-") != 4 {
		at.invalid(uid, "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters")
	}
}

func (c *claimedDevices) allocationRules(at *place, a *resourcev1.AllocationResult) {
	some(at.of("devices").of("results"), a.Devices.Results, resourcev1.AllocationResultsMaxSize,
		func(at *place, r *resourcev1.DeviceRequestAllocationResult) {
			c.requestRef(at.of("request"), r.Request)
			driverName(at.of("driver"), r.Driver)
			poolName(at.of("pool"), r.Pool)
			format(at.of("device"), r.Device, dnsLabel)
			bindingConditionRules(at, r.BindingConditions, r.BindingFailureConditions)
			each(at.of("tolerations"), r.Tolerations, deviceTolerationRules)
			if r.ShareID != nil {
				uidRules(at.of("shareID"), string(*r.ShareID))
			}
		})
	// Of a class and of the claim.
	some(at.of("devices").of("config"), a.Devices.Config, 2*resourcev1.DeviceConfigMaxSize,
		func(at *place, config *resourcev1.DeviceAllocationConfiguration) {
			enum(at.of("source"), config.Source, resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass)
			c.requestRefs(at.of("requests"), config.Requests)
			deviceConfigRules(at, &config.DeviceConfiguration, false)
		})
	if a.NodeSelector != nil {
		nodeSelectorRules(at.of("nodeSelector"), a.NodeSelector, false)
	}
}

// bindingConditionRules: what is waited for and what ends the waiting are told
// together and apart.
func bindingConditionRules(at *place, conditions, failures []string) {
	for _, f := range []struct {
		name  string
		list  []string
		limit int
	}{
		{"bindingConditions", conditions, resourcev1.BindingConditionsMaxSize},
		{"bindingFailureConditions", failures, resourcev1.BindingFailureConditionsMaxSize},
	} {
		some(at.of(f.name), f.list, f.limit, func(at *place, name *string) { format(at, *name, qualifiedName) })
	}
	var seen, failed unique[string]
	for i, c := range conditions {
		seen.add(at.of("bindingConditions").item(i), c)
	}
	for i, c := range failures {
		at := at.of("bindingFailureConditions").item(i)
		failed.add(at, c)
		if seen.has(c) {
			at.invalid(c, "bindingFailureConditions must not overlap with bindingConditions")
		}
	}
	if len(conditions) == 0 && len(failures) > 0 {
		at.of("bindingConditions").invalid(conditions, "bindingConditions are required to use bindingFailureConditions")
	}
	if len(failures) == 0 && len(conditions) > 0 {
		at.of("bindingFailureConditions").invalid(failures, "bindingFailureConditions are required to use bindingConditions")
	}
}

// poolName is one or more DNS names with slashes between them.
func poolName(at *place, name string) {
	if !required(at, name) {
		return
	}
	if len(name) > resourcev1.PoolNameMaxLength {
		at.tooLong(resourcev1.PoolNameMaxLength)
	}
	for _, part := range strings.Split(name, "/") {
		format(at, part, dnsSubdomain)
	}
}

// setFields writes the names of fields that are set as messages show them.
func setFields(names []string) string { return fmt.Sprintf("{%s}", strings.Join(names, ", ")) }
