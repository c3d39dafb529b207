package api

import (
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
)

// eventV1beta1 has the form of v1, and the rules of the core group.
func eventV1beta1() Version {
	same := alike[eventsv1.Event, eventsv1beta1.Event](eventsv1beta1.SchemeGroupVersion)
	v := same
	v.NotServed = true
	v.FieldLabels, v.FieldLabelError = eventsFieldLabels(), unsupportedField
	v.Validate, v.ValidateUpdate = validateCoreEvent, validateCoreEventUpdate
	v.ToHub = func(obj Object) (Object, error) {
		e, err := same.ToHub(obj)
		if err != nil {
			return nil, err
		}
		return eventToCore(e)
	}
	v.FromHub = func(obj Object) (Object, error) {
		e, err := eventFromCore(obj)
		if err != nil {
			return nil, err
		}
		return same.FromHub(e)
	}
	return v
}
