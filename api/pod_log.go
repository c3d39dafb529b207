package api

import (
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podLog is what a container wrote.
func podLog() *Subresource {
	return &Subresource{Name: "log", Verbs: []string{VerbGet}, Connection: &Connection{
		Style: Text, Empty: &corev1.PodLogOptions{}, Options: logOptions, Locate: locateLog,
	}}
}

func logOptions(query url.Values, _ string) (runtime.Object, error) {
	var o corev1.PodLogOptions
	q := queryReader{query: query}
	q.text("container", &o.Container)
	q.flag("follow", &o.Follow)
	q.flag("previous", &o.Previous)
	q.number("sinceSeconds", &o.SinceSeconds)
	read(&q, "sinceTime", &o.SinceTime, metav1.Convert_Slice_string_To_Pointer_v1_Time)
	q.flag("timestamps", &o.Timestamps)
	q.number("tailLines", &o.TailLines)
	q.number("limitBytes", &o.LimitBytes)
	q.flag("insecureSkipTLSVerifyBackend", &o.InsecureSkipTLSVerifyBackend)
	if stream := query.Get("stream"); stream != "" {
		o.Stream = &stream
	}
	return &o, q.err
}

func validateLogOptions(o *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	if n := o.TailLines; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *n, "must be greater than or equal to 0").WithOrigin("minimum"))
	}
	if n := o.LimitBytes; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *n, "must be greater than 0"))
	}
	switch {
	case o.SinceSeconds != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case o.SinceSeconds != nil && *o.SinceSeconds < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *o.SinceSeconds, "must be greater than 0"))
	}
	if o.Stream != nil {
		errs = append(errs, field.Forbidden(field.NewPath("stream"), "may not be specified"))
	}
	return errs
}

// locateLog is where a kubelet has the log of a container; a pod that no node
// runs has none.
func locateLog(near *Neighbours, name string, options runtime.Object) (*Location, error) {
	o := options.(*corev1.PodLogOptions)
	if errs := validateLogOptions(o); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), name, errs)
	}
	pod, err := near.pod(name)
	if err != nil {
		return nil, err
	}
	container, err := containerOf(pod, o.Container)
	if err != nil || pod.Spec.NodeName == "" {
		return nil, err
	}
	at, err := near.kubelet(pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	at.Path, at.RawQuery = podPath("containerLogs", pod, container), logQuery(o).Encode()
	return &Location{URL: *at, Kubelet: true, Unverified: o.InsecureSkipTLSVerifyBackend, Follow: o.Follow}, nil
}

// logQuery is what of the options the kubelet is told.
func logQuery(o *corev1.PodLogOptions) url.Values {
	query := url.Values{}
	for name, wanted := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if wanted {
			query.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines, "limitBytes": o.LimitBytes} {
		if n != nil {
			query.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		query.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	return query
}
