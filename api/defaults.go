package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// setDefault gives an optional field its value where a client left it out.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// defaultSelector makes a selector that was left out one that selects all.
func defaultSelector(s **metav1.LabelSelector) {
	if *s == nil {
		*s = &metav1.LabelSelector{}
	}
}

// noItems makes an empty list one that is not there, as it comes back from
// storage.
func noItems[T any](list *[]T) {
	if len(*list) == 0 {
		*list = nil
	}
}
