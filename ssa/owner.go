package ssa

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldsV1 is the only form of fields there is.
const fieldsV1 = "FieldsV1"

// owner is one entry of managedFields.
type owner struct {
	manager     string
	operation   metav1.ManagedFieldsOperationType
	apiVersion  string
	subresource string
	time        *metav1.Time
	fields      Set
	// raw is the text of fields, while that is still known.
	raw *metav1.FieldsV1
}

func (o *owner) applied() bool { return o.operation == metav1.ManagedFieldsOperationApply }

// is tells whether o and p are the same owner. One that applies stays the same
// whatever version it uses.
func (o *owner) is(p *owner) bool {
	return o.manager == p.manager && o.operation == p.operation && o.subresource == p.subresource &&
		(o.applied() || o.apiVersion == p.apiVersion)
}

// id is what owners are ordered by where nothing else tells them apart.
func (o *owner) id() string {
	e := metav1.ManagedFieldsEntry{Manager: o.manager, Operation: o.operation, APIVersion: o.apiVersion, Subresource: o.subresource}
	if o.applied() {
		e.APIVersion = ""
	}
	id, _ := json.Marshal(e) // strings do not fail
	return string(id)
}

func (o *owner) seconds() int64 {
	if o.time == nil {
		return 0
	}
	return o.time.Unix()
}

// set replaces the fields of o.
func (o *owner) set(fields Set) { o.fields, o.raw = fields, nil }

// take removes what difference says has changed.
func (o *owner) take(difference Set) {
	if rest, changed := minus(o.fields, difference); changed {
		o.set(rest)
	}
}

// owners are the entries of an object.
type owners []owner

func (os owners) find(o *owner) *owner {
	for i := range os {
		if os[i].is(o) {
			return &os[i]
		}
	}
	return nil
}

// withoutEmpty drops the owners that own nothing.
func (os owners) withoutEmpty() owners {
	return slices.DeleteFunc(os, func(o owner) bool { return len(o.fields) == 0 })
}

// decode reads managedFields. Of entries of the same owner the last one holds.
func decode(entries []metav1.ManagedFieldsEntry) (owners, error) {
	os := make(owners, 0, len(entries)+1)
	for i := range entries {
		o, err := decodeEntry(i, &entries[i])
		if err != nil {
			return nil, err
		}
		if there := os.find(&o); there != nil {
			*there = o
			continue
		}
		os = append(os, o)
	}
	return os, nil
}

func decodeEntry(i int, e *metav1.ManagedFieldsEntry) (owner, error) {
	o := owner{
		manager: e.Manager, operation: e.Operation, apiVersion: e.APIVersion,
		subresource: e.Subresource, time: e.Time,
	}
	switch {
	case e.Operation != metav1.ManagedFieldsOperationApply && e.Operation != metav1.ManagedFieldsOperationUpdate:
		return o, errorf("operation must be `Apply` or `Update`")
	case e.APIVersion == "":
		return o, errorf("apiVersion must not be empty")
	case e.FieldsType == "":
		return o, errorf("missing fieldsType in managed fields entry %d", i)
	case e.FieldsType != fieldsV1:
		return o, errorf("invalid fieldsType %q in managed fields entry %d", e.FieldsType, i)
	case e.Time != nil && (e.Time.UTC().Year() < 0 || e.Time.UTC().Year() > 9999):
		return o, errorf("time of managed fields entry %d cannot be written", i)
	case e.FieldsV1 == nil:
		return o, nil
	}
	fields, exact, err := parseSet(e.FieldsV1.GetRawString())
	if err != nil {
		return o, errorf("error decoding set: %w", err)
	}
	o.fields = fields
	if exact {
		o.raw = e.FieldsV1
	}
	return o, nil
}

// encode makes managedFields, in its order: who applies before who updates,
// each by time.
func (os owners) encode() []metav1.ManagedFieldsEntry {
	if len(os) == 0 {
		return nil
	}
	slices.SortFunc(os, func(a, b owner) int {
		if c := strings.Compare(string(a.operation), string(b.operation)); c != 0 {
			return c
		}
		if c := a.seconds() - b.seconds(); c != 0 {
			return int(c)
		}
		if c := strings.Compare(a.manager, b.manager); c != 0 {
			return c
		}
		if c := strings.Compare(a.apiVersion, b.apiVersion); c != 0 {
			return c
		}
		return strings.Compare(a.subresource, b.subresource)
	})
	out := make([]metav1.ManagedFieldsEntry, len(os))
	for i := range os {
		out[i] = os[i].entry()
	}
	return out
}

func (o *owner) entry() metav1.ManagedFieldsEntry {
	raw := o.raw
	if raw == nil {
		raw = &metav1.FieldsV1{}
		raw.SetRawBytes(o.fields.appendJSON(make([]byte, 0, 256)))
	}
	return metav1.ManagedFieldsEntry{
		Manager: o.manager, Operation: o.operation, APIVersion: o.apiVersion, Time: o.time,
		FieldsType: fieldsV1, FieldsV1: raw, Subresource: o.subresource,
	}
}

// stamp is a time as managedFields keeps it.
func stamp(now time.Time) *metav1.Time {
	return &metav1.Time{Time: now.UTC().Truncate(time.Second)}
}
