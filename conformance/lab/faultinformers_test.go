package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapiserver/miniapiserver/internal/eventually"
	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
)

// informerFaults are the faults from which informers recover.
var informerFaults = map[string]string{
	"close":           "match: {verbs: [watch]}\nwhen: {times: 4}\ninject: {watch: {close: {afterEvents: 2}}}",
	"close-at-once":   "match: {verbs: [watch]}\nwhen: {times: 2}\ninject: {watch: {close: {}}}",
	"expire":          "match: {verbs: [watch]}\nwhen: {times: 2}\ninject: {watch: {expire: {}}}",
	"freeze":          "match: {verbs: [watch]}\nwhen: {times: 1}\ninject: {watch: {freeze: 1s}}",
	"delay":           "match: {verbs: [watch]}\nwhen: {times: 1}\ninject: {watch: {delay: 100ms}}",
	"no-bookmarks":    "match: {verbs: [watch]}\nwhen: {times: 1}\ninject: {watch: {noBookmarks: {}}}",
	"lose-request":    "match: {verbs: [list, watch]}\nwhen: {times: 3}\ninject: {lose: Request}",
	"lose-response":   "match: {verbs: [list]}\nwhen: {times: 2}\ninject: {lose: Response}",
	"error-410":       "match: {verbs: [list, watch]}\nwhen: {times: 3}\ninject: {error: {code: 410}}",
	"error-429":       "match: {verbs: [list, watch]}\nwhen: {times: 1}\ninject: {error: {code: 429, retryAfterSeconds: 1}}",
	"error-500":       "match: {verbs: [list, watch]}\nwhen: {times: 3}\ninject: {error: {code: 500}}",
	"error-503":       "match: {verbs: [list, watch]}\nwhen: {times: 3}\ninject: {error: {code: 503}}",
	"error-504":       "match: {verbs: [list, watch]}\nwhen: {times: 3}\ninject: {error: {code: 504}}",
	"slow":            "match: {verbs: [list, watch]}\nwhen: {times: 1}\ninject: {delay: {min: 200ms}}",
	"compact":         "match: {verbs: [watch]}\nwhen: {skip: 1, times: 1}\ninject: {compact: {}}",
	"random-closings": "match: {verbs: [watch]}\nwhen: {times: 20, percent: 50, seed: 3}\ninject: {watch: {close: {afterEvents: 1}}}",
}

// TestInformersRecover runs informers with each fault while objects change, those that begin with a watch and those that begin with a
// list. Each must be hit, and then have what a fresh list has.
func TestInformersRecover(t *testing.T) {
	w := startLab(t)
	for mode, streams := range map[string]bool{"watch": true, "list": false} {
		t.Run(mode, func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, features.WatchListClient, streams)
			for name, spec := range informerFaults {
				if streams && name == "lose-response" {
					continue // there is no list whose response can be lost
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					w.in(t).recover(mode+"-"+name, spec)
				})
			}
		})
	}
}

// recover runs an informer with a fault.
func (w *world) recover(name, spec string) {
	t := w.t
	w.do("POST /api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
	writer := w.typed("writer/1").CoreV1().ConfigMaps(name)
	ctx, rest := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer rest()
	writing.Go(func() { churn(ctx, t, writer) })

	agent := name + "/1"
	if strings.HasSuffix(name, "-compact") { // the first watch ends, so that the next one begins with an old revision
		defer w.fault(name+"-close", agent, informerFaults["close"])()
	}
	end := w.fault(name, agent, spec)
	factory := informers.NewSharedInformerFactoryWithOptions(w.typed(agent), 0, informers.WithNamespace(name))
	lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps(name)
	watching, stop := context.WithCancel(t.Context())
	factory.StartWithContext(watching)
	defer factory.Shutdown()
	defer stop()
	eventually.Succeeds(t, "the informer begins", func() error {
		all, err := lister.List(labels.Everything())
		if err == nil && len(all) == 0 {
			err = errors.New("it has nothing")
		}
		return err
	})
	eventually.True(t, "the fault hits its last request", func() bool {
		var f v1alpha1.Fault
		if err := json.Unmarshal(w.do("GET "+group+"/faults/"+name, "").body, &f); err != nil {
			t.Fatal(err)
		}
		return f.Status.Injected > 0 && (f.Status.Injected >= f.Spec.When.Times || f.Spec.When.Percent > 0)
	})
	rest()
	writing.Wait()
	list, err := writer.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, one := range list.Items {
		want[one.Name] = one.ResourceVersion
	}
	eventually.Succeeds(t, "the informer has what a list has", func() error {
		all, err := lister.List(labels.Everything())
		got := map[string]string{}
		for _, one := range all {
			got[one.Name] = one.ResourceVersion
		}
		if err == nil && !maps.Equal(got, want) {
			err = fmt.Errorf("it has %v, a list %v", got, want)
		}
		return err
	})
	t.Logf("%d hits", end())
}

// churn creates, changes and deletes ConfigMaps until ctx ends. It completes a request in progress.
func churn(ctx context.Context, t testing.TB, c corev1client.ConfigMapInterface) {
	const objects = 5
	for n := 0; ctx.Err() == nil; n++ {
		one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o", n%objects)}, Data: map[string]string{"n": fmt.Sprint(n)}}
		_, err := c.Update(t.Context(), one, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			_, err = c.Create(t.Context(), one, metav1.CreateOptions{})
		} else if err == nil && n%7 == 0 {
			err = c.Delete(t.Context(), one.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}
