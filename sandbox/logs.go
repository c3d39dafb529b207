package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
)

// annotationLogs is the annotation of pods with the lines that each of their containers has written. A
// line that begins with a time of RFC 3339 was written then, others when the container started.
const annotationLogs = "sandbox.miniapiserver.io/logs"

// logs answers kubectl logs, as a kubelet does.
func (k *kubelet) logs(w http.ResponseWriter, r *http.Request) {
	query, options := r.URL.Query(), corev1.PodLogOptions{}
	if err := corev1conversion.Convert_url_Values_To_v1_PodLogOptions(&query, &options, nil); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pod, err := k.client.CoreV1().Pods(r.PathValue("namespace")).Get(r.Context(), r.PathValue("pod"), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		http.Error(w, fmt.Sprintf("pod %q does not exist", r.PathValue("pod")), http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	container := r.PathValue("container")
	began, err := began(pod, container, options.Previous)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	out := &logStream{ResponseWriter: w, timestamps: options.Timestamps, left: options.LimitBytes}
	if _, ok := pod.Annotations[annotationLogs]; !ok {
		fmt.Fprintf(w, whereYouAre, podOf(r))
	}
	err = out.write(selectLines(readLines(pod.Annotations[annotationLogs], began), &options, time.Now()))
	if err == nil && options.Follow && !options.Previous {
		err = k.follow(r.Context(), pod, container, out)
	}
	if err != nil && !errors.Is(err, errLogEnds) {
		k.logger.Debug("the logs of a pod end", "pod", podOf(r), "error", err) // the client sees it
	}
}

// began returns when a container, or the one before it, started. The errors are those of a kubelet.
func began(pod *corev1.Pod, container string, previous bool) (time.Time, error) {
	status := containerStatus(pod, container)
	if status == nil {
		return time.Time{}, fmt.Errorf("container %q in pod %q is not available", container, pod.Name)
	}
	last := status.LastTerminationState.Terminated
	switch {
	case previous && last == nil:
		return time.Time{}, fmt.Errorf("previous terminated container %q in pod %q not found", container, pod.Name)
	case previous:
		return last.StartedAt.Time, nil
	case status.State.Running != nil:
		return status.State.Running.StartedAt.Time, nil
	case status.State.Terminated != nil:
		return status.State.Terminated.StartedAt.Time, nil
	case last != nil:
		return last.StartedAt.Time, nil
	case status.State.Waiting != nil && status.State.Waiting.Reason != "":
		return time.Time{}, fmt.Errorf("container %q in pod %q is waiting to start: %s", container, pod.Name, status.State.Waiting.Reason)
	default:
		return time.Time{}, fmt.Errorf("container %q in pod %q is waiting to start - no logs yet", container, pod.Name)
	}
}

// containerStatus returns the status of a container of any kind, or nil.
func containerStatus(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		if i := slices.IndexFunc(list, func(s corev1.ContainerStatus) bool { return s.Name == container }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// logLine is a line of a log, without its end.
type logLine struct {
	at   time.Time
	text string
}

// readLines returns the lines of an annotation.
func readLines(annotation string, began time.Time) (lines []logLine) {
	for text := range strings.Lines(annotation) {
		line := logLine{began, strings.TrimSuffix(text, "\n")}
		first, _, _ := strings.Cut(line.text, " ")
		if at, err := time.Parse(time.RFC3339, first); err == nil {
			line.at = at
		}
		lines = append(lines, line)
	}
	return lines
}

// selectLines returns the lines that the options request.
func selectLines(lines []logLine, o *corev1.PodLogOptions, now time.Time) []logLine {
	since := time.Time{}
	if o.SinceTime != nil {
		since = o.SinceTime.Time
	}
	if o.SinceSeconds != nil {
		since = now.Add(-time.Duration(*o.SinceSeconds) * time.Second)
	}
	lines = slices.DeleteFunc(lines, func(l logLine) bool { return l.at.Before(since) })
	if o.TailLines != nil && int64(len(lines)) > *o.TailLines {
		lines = lines[int64(len(lines))-*o.TailLines:]
	}
	return lines
}

// logStream writes lines to a client.
type logStream struct {
	http.ResponseWriter
	timestamps bool
	left       *int64 // bytes until the limit; nil means no limit
}

// errLogEnds is the error of a stream that has reached its limit.
var errLogEnds = errors.New("the limit of bytes is reached")

func (s *logStream) write(lines []logLine) error {
	for _, line := range lines {
		text := line.text + "\n"
		if s.timestamps {
			text = line.at.UTC().Format("2006-01-02T15:04:05.000000000Z07:00") + " " + text
		}
		if s.left != nil {
			text = text[:min(int64(len(text)), *s.left)]
			*s.left -= int64(len(text))
		}
		if _, err := io.WriteString(s, text); err != nil {
			return err
		}
		if s.left != nil && *s.left == 0 {
			return errLogEnds
		}
	}
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// follow writes the lines that are added to the annotation of a pod, until the container ends.
func (k *kubelet) follow(ctx context.Context, pod *corev1.Pod, container string, out *logStream) error {
	written, restarts := pod.Annotations[annotationLogs], restartsOf(pod, container)
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", pod.Name).String()}
	return await(ctx, func(ctx context.Context) (watch.Interface, error) {
		return k.client.CoreV1().Pods(pod.Namespace).Watch(ctx, options)
	}, func(e watch.Event) (done bool) {
		now, ok := e.Object.(*corev1.Pod)
		if !ok || now.UID != pod.UID || e.Type == watch.Deleted {
			return true
		}
		annotation := now.Annotations[annotationLogs]
		if annotation != written {
			added, isLonger := strings.CutPrefix(annotation, strings.TrimSuffix(written, "\n")+"\n")
			if !isLonger { // another log
				added = annotation
			}
			written = annotation
			if out.write(readLines(added, time.Now())) != nil {
				return true
			}
		}
		status := containerStatus(now, container)
		return status == nil || status.State.Running == nil || restartsOf(now, container) != restarts
	})
}

// restartsOf returns how often a container was restarted.
func restartsOf(pod *corev1.Pod, container string) int32 {
	if status := containerStatus(pod, container); status != nil {
		return status.RestartCount
	}
	return 0
}
