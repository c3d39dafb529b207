package faults

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
)

// startInformer starts client-go's informer of ConfigMaps.
func startInformer(t *testing.T, config *rest.Config) listers.ConfigMapLister {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	lister := factory.Core().V1().ConfigMaps().Lister()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	factory.Start(ctx.Done())
	for _, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			t.Fatal("the informer does not get to know what there is")
		}
	}
	return lister
}

// checkInformer waits until the informer has the objects and revisions in etcd.
func checkInformer(t *testing.T, name string, lister listers.ConfigMapLister, truth []event) {
	t.Helper()
	want := map[string]string{}
	for _, e := range truth {
		if want[e.key] = fmt.Sprint(e.value, "@", e.rev); e.kind == "DELETED" {
			delete(want, e.key)
		}
	}
	eventually(t, "informer "+name+" has what etcd has", func(context.Context) error {
		all, err := lister.List(labels.Everything())
		if err != nil {
			return err
		}
		got := map[string]string{}
		for _, cm := range all {
			if !strings.HasPrefix(cm.Name, "kube") {
				got[cm.Name] = fmt.Sprint(valueOf(cm), "@", cm.ResourceVersion)
			}
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("it has %v, etcd %v", got, want)
		}
		return nil
	})
}

func valueOf(cm *corev1.ConfigMap) string { return cm.Data[valueKey] }
