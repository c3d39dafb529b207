package sandbox

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/config/resources"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/utils/informer"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// startObjectStages plays the stages of built-in kinds other than Node and Pod, until ctx ends. kwok's
// controller of all stages would read the merge keys of each kind from the server's OpenAPI documents,
// which delays the start; here the Go types have them.
func startObjectStages(ctx context.Context, conf controllers.Config, stages map[internalversion.StageResourceRef][]*internalversion.Stage) error {
	events := record.NewBroadcaster()
	events.StartRecordingToSink(&clientcorev1.EventSinkImpl{Interface: conf.TypedClient.CoreV1().Events("")})
	context.AfterFunc(ctx, events.Shutdown)
	for ref, list := range stages {
		if err := startStages(ctx, conf, ref, list, events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: kubeletsID})); err != nil {
			return fmt.Errorf("stages of kind %s: %w", ref.Kind, err)
		}
	}
	return nil
}

// startStages plays the stages of a kind.
func startStages(ctx context.Context, conf controllers.Config, ref internalversion.StageResourceRef, list []*internalversion.Stage, recorder record.EventRecorder) error {
	gv, err := schema.ParseGroupVersion(ref.APIGroup)
	if err != nil {
		return err
	}
	object, err := scheme.Scheme.New(gv.WithKind(ref.Kind))
	if err != nil {
		return err
	}
	patches, err := strategicpatch.NewPatchMetaFromStruct(object)
	if err != nil {
		return err
	}
	life, err := lifecycle.NewLifecycle(list)
	if err != nil {
		return err
	}
	resource, _ := meta.UnsafeGuessKindToResource(gv.WithKind(ref.Kind))
	events := make(chan informer.Event[*unstructured.Unstructured], 1)
	watcher := informer.NewInformer[*unstructured.Unstructured, *unstructured.UnstructuredList](conf.DynamicClient.Resource(resource))
	if err := watcher.Watch(ctx, informer.Option{}, events); err != nil {
		return err
	}
	player, err := controllers.NewStageController(controllers.StageControllerConfig{
		Clock:                conf.Clock,
		DynamicClient:        conf.DynamicClient,
		RESTMapper:           conf.RESTMapper,
		Schema:               patches,
		GVR:                  resource,
		Lifecycle:            resources.NewStaticGetter(life),
		PlayStageParallelism: 1,
		FuncMap:              conf.FuncMap,
		Recorder:             recorder,
	})
	if err != nil {
		return err
	}
	return player.Start(ctx, events)
}
