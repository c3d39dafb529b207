package pod

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/kinds/core/kubelet"
)

// podLog returns the subresource log, the output of a container. splitStreams: clients can ask for one
// of its streams.
func podLog(splitStreams bool) *api.Connection {
	return api.NewConnection(api.Connection{Name: "log", Verbs: []string{api.VerbGet}, Style: api.StyleText}, logOptions,
		func(lookup *api.ConnectLookup, name string, o *corev1.PodLogOptions) (*api.Location, error) {
			defaultStream(o, splitStreams)
			return locateLog(lookup, name, o, splitStreams)
		})
}

// defaultStream asks for all streams if the client can choose one.
func defaultStream(o *corev1.PodLogOptions, splitStreams bool) {
	if splitStreams && o.Stream == nil {
		o.Stream = new(corev1.LogStreamAll)
	}
}

func logOptions(query url.Values, _ string) (*corev1.PodLogOptions, error) {
	var o corev1.PodLogOptions
	q := api.QueryReader{Query: query}
	q.Text("container", &o.Container)
	q.Flag("follow", &o.Follow)
	q.Flag("previous", &o.Previous)
	q.Number("sinceSeconds", &o.SinceSeconds)
	api.Read(&q, "sinceTime", &o.SinceTime, metav1.Convert_Slice_string_To_Pointer_v1_Time)
	q.Flag("timestamps", &o.Timestamps)
	q.Number("tailLines", &o.TailLines)
	q.Number("limitBytes", &o.LimitBytes)
	q.Flag("insecureSkipTLSVerifyBackend", &o.InsecureSkipTLSVerifyBackend)
	if stream := query.Get("stream"); stream != "" {
		o.Stream = &stream
	}
	return &o, q.Err
}

func validateLogOptions(o *corev1.PodLogOptions, splitStreams bool) field.ErrorList {
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
	streams := []string{corev1.LogStreamAll, corev1.LogStreamStderr, corev1.LogStreamStdout}
	switch stream := field.NewPath("stream"); {
	case o.Stream == nil:
	case !splitStreams:
		errs = append(errs, field.Forbidden(stream, "may not be specified"))
	case !slices.Contains(streams, *o.Stream):
		errs = append(errs, field.NotSupported(stream, *o.Stream, streams))
	}
	if splitStreams && o.TailLines != nil && *o.Stream != corev1.LogStreamAll {
		errs = append(errs, field.Forbidden(field.NewPath(""), "`tailLines` and specific `stream` are mutually exclusive for now"))
	}
	return errs
}

// locateLog returns the location of a container's log at its kubelet, or nil while the pod is
// not assigned to a node.
func locateLog(lookup *api.ConnectLookup, name string, o *corev1.PodLogOptions, splitStreams bool) (*api.Location, error) {
	if errs := validateLogOptions(o, splitStreams); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), name, errs)
	}
	pod, err := Get(lookup, name)
	if err != nil {
		return nil, err
	}
	container, err := containerOf(pod, o.Container)
	if err != nil || pod.Spec.NodeName == "" {
		return nil, err
	}
	at, err := kubelet.Locate(lookup, pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	at.URL.Path, at.URL.RawQuery = podPath("containerLogs", pod, container), logQuery(o).Encode()
	at.Unverified, at.Follow = o.InsecureSkipTLSVerifyBackend, o.Follow
	return at, nil
}

// logQuery returns the options for the kubelet.
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
	if o.Stream != nil {
		query.Set("stream", *o.Stream)
	}
	return query
}
