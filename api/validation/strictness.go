package validation

import "github.com/miniapiserver/miniapiserver/internal/features"

// Strictness says which rules for fields of many kinds are relaxed, because a feature gate is off.
// The zero value relaxes none. A path has that of its root, so that a rule deep in an object, such as
// in a pod template, need not be given the gates.
type Strictness struct {
	// anyAddressForm: addresses and CIDRs of older fields may have leading zeros, be IPv4-mapped and
	// have bits beyond the mask.
	anyAddressForm bool
}

// StrictnessOf returns the strictness of a server with the given gates.
func StrictnessOf(gates features.Gates) Strictness {
	return Strictness{anyAddressForm: !gates.Enabled(features.StrictIPCIDRValidation)}
}
