package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetDefault sets an optional field if it is nil.
func SetDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// DefaultSelector replaces a nil selector by an empty one, which selects everything.
func DefaultSelector(s **metav1.LabelSelector) {
	if *s == nil {
		*s = &metav1.LabelSelector{}
	}
}
