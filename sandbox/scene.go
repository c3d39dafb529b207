package sandbox

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

//go:embed scenes
var sceneFiles embed.FS

// generatedScenes are the scenes that are too large for a file.
var generatedScenes = map[string]func() []*unstructured.Unstructured{"busy-cluster": busyCluster}

// sceneNodes has the number of nodes of scenes that need more than one.
var sceneNodes = map[string]int{"web-shop": 3, "busy-cluster": 100}

// Scenes returns the names of the scenes of the program.
func Scenes() []string {
	names := slices.Collect(maps.Keys(generatedScenes))
	files, _ := fs.Glob(sceneFiles, "scenes/*.yaml") // the pattern is right
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// readScene reads a scene of the program, or else the manifests of a file, or of all files of a
// directory whose name ends in .yaml, .yml or .json, in the order of their names.
func readScene(name string) ([]*unstructured.Unstructured, error) {
	if generate, ok := generatedScenes[name]; ok {
		return generate(), nil
	}
	files, err := readSceneFiles(name)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		more, err := readManifests(file.data)
		if err != nil {
			return nil, fmt.Errorf("--scene: %s: %w", file.name, err)
		}
		objects = append(objects, more...)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("--scene %s: no manifest", name)
	}
	return objects, nil
}

// isSnapshot reports whether a file is an etcd snapshot: a database of bbolt, which has this number in its first page.
func isSnapshot(file string) bool {
	const at, magic = 16, 0xED0CDAED
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var number [4]byte
	_, err = f.ReadAt(number[:], at)
	return err == nil && binary.LittleEndian.Uint32(number[:]) == magic
}

// sceneFile is a file of manifests.
type sceneFile struct {
	name string
	data []byte
}

func readSceneFiles(name string) ([]sceneFile, error) {
	if data, err := sceneFiles.ReadFile("scenes/" + name + ".yaml"); err == nil {
		return []sceneFile{{name, data}}, nil
	}
	if !strings.ContainsAny(name, "./") {
		return nil, fmt.Errorf("--scene %s: want %s, a file or a directory of manifests", name, strings.Join(Scenes(), ", "))
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("--scene: %w", err)
	}
	names := []string{name}
	if info.IsDir() {
		if names, err = manifestFiles(name); err != nil {
			return nil, err
		}
	}
	var files []sceneFile
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--scene: %w", err)
		}
		files = append(files, sceneFile{name, data})
	}
	return files, nil
}

// commandPrefix begins a comment of a scene with a command to try.
const commandPrefix = "# $ "

// SceneCommands returns commands to try with a scene: those in its comments that begin with "# $ ".
func SceneCommands(name string) ([]string, error) {
	if _, ok := generatedScenes[name]; ok {
		return busyCommands(), nil
	}
	files, err := readSceneFiles(name)
	if err != nil {
		return nil, err
	}
	var commands []string
	for _, file := range files {
		for line := range strings.Lines(string(file.data)) {
			if command, ok := strings.CutPrefix(line, commandPrefix); ok {
				commands = append(commands, strings.TrimSpace(command))
			}
		}
	}
	return commands, nil
}

func manifestFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("--scene: %w", err)
	}
	var files []string
	for _, e := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("--scene %s: no .yaml, .yml or .json files", dir)
	}
	return files, nil
}

// readManifests reads YAML or JSON documents, Lists of objects included.
func readManifests(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		switch {
		case len(object.Object) == 0: // only comments
		case object.IsList():
			err := object.EachListItem(func(item runtime.Object) error {
				objects = append(objects, item.(*unstructured.Unstructured))
				return nil
			})
			if err != nil {
				return nil, err
			}
		case object.GetKind() == "" || object.GetName() == "":
			return nil, fmt.Errorf("document %d has no kind or no name", len(objects)+1)
		default:
			objects = append(objects, object)
		}
	}
}

// sceneManager is the field manager of scenes.
const sceneManager = "sandbox-scene"

// Load applies the objects of a scene, in order, and waits until it has settled: until its pods no
// longer change. The scene is a name of Scenes, a file or a directory.
func (s *Sandbox) Load(ctx context.Context, scene string) error {
	objects, err := readScene(scene)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(s.config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.Client.Discovery()))
	for _, object := range objects {
		if err := applyObject(ctx, client, mapper, object); err != nil {
			return fmt.Errorf("--scene %s: %s %s: %w", scene, object.GetKind(), object.GetName(), err)
		}
		if object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("ResourceQuota") {
			if err := s.awaitQuota(ctx, cmp.Or(object.GetNamespace(), metav1.NamespaceDefault), object.GetName()); err != nil {
				return fmt.Errorf("--scene %s: quota %s: %w", scene, object.GetName(), err)
			}
		}
	}
	return s.settle(ctx)
}

// awaitQuota waits until the controller manager has set the status of a quota, because a quota
// without one restricts nothing. If nobody sets it, the scene goes on after definitionTimeout.
func (s *Sandbox) awaitQuota(ctx context.Context, namespace, name string) error {
	for deadline := time.Now().Add(definitionTimeout); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(definitionPause) {
		quota, err := s.Client.CoreV1().ResourceQuotas(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(quota.Status.Hard) == len(quota.Spec.Hard) {
			return nil
		}
	}
	return ctx.Err()
}

// applyObject applies an object. A kind that is not known may have been defined just now: it is
// looked up until definitionTimeout has passed.
func applyObject(ctx context.Context, client dynamic.Interface, mapper *restmapper.DeferredDiscoveryRESTMapper, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	for deadline := time.Now().Add(definitionTimeout); meta.IsNoMatchError(err) && time.Now().Before(deadline) && ctx.Err() == nil; {
		time.Sleep(definitionPause)
		mapper.Reset()
		mapping, err = mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return err
	}
	resource := dynamic.ResourceInterface(client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		resource = client.Resource(mapping.Resource).Namespace(namespace)
	}
	_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: sceneManager, Force: true})
	return err
}

const (
	definitionTimeout = 10 * time.Second
	definitionPause   = 50 * time.Millisecond
	// A scene has settled if no pod has changed for this long; it is looked at every settlePause.
	settleQuiet = time.Second
	settlePause = 100 * time.Millisecond
	// What changes is logged after settleTell, and again after each.
	settleTell = 5 * time.Second
)

// settle waits until no pod has changed for a while. Pods that cannot run, such as those of a scene
// about faults, do not change either.
func (s *Sandbox) settle(ctx context.Context) error {
	var last string
	since := time.Now()
	for tell := since.Add(settleTell); ; {
		state, err := s.podState(ctx)
		if err != nil {
			return err
		}
		if state != last {
			last, since = state, time.Now()
		}
		if time.Since(since) >= settleQuiet {
			return nil
		}
		if time.Now().After(tell) {
			s.logger.Warn("the scene has not settled yet", "pods", state)
			tell = time.Now().Add(settleTell)
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// podState returns what a person would see change: how many pods there are in each phase, on how
// many nodes, and how many are ready.
func (s *Sandbox) podState(ctx context.Context) (string, error) {
	pods, err := s.Client.CoreV1().Pods("").List(ctx, fromCache)
	if err != nil {
		return "", err
	}
	phases, ready, scheduled := map[corev1.PodPhase]int{}, 0, 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		phases[pod.Status.Phase]++
		if pod.Spec.NodeName != "" {
			scheduled++
		}
		if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	return fmt.Sprintf("%d, of which %d have a node and %d are ready; by phase: %v", len(pods.Items), scheduled, ready, phases), nil
}

// Size of the scene busy-cluster.
const (
	busyNamespaces = 30
	busyPods       = 100 // of each namespace
)

// busyCommands returns the commands to try with the scene.
func busyCommands() []string {
	return []string{
		"kubectl top nodes",
		"kubectl get deployments --namespace=team-00",
		"kubectl get pods --all-namespaces --field-selector=spec.nodeName=node-7",
		"kubectl rollout restart deployment/service-00 --namespace=team-00",
		"kubectl drain node-7",
	}
}

// busyCluster returns 3,000 pods in 30 namespaces, of Deployments of 5, with a Service each.
func busyCluster() []*unstructured.Unstructured {
	const replicas = 5
	var objects []*unstructured.Unstructured
	add := func(object map[string]any) { objects = append(objects, &unstructured.Unstructured{Object: object}) }
	for n := range busyNamespaces {
		namespace := fmt.Sprintf("team-%02d", n)
		add(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}})
		for d := range busyPods / replicas {
			name := fmt.Sprintf("service-%02d", d)
			labels := map[string]any{"app": name}
			meta := map[string]any{"name": name, "namespace": namespace}
			add(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": map[string]any{
				"replicas": int64(replicas), "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
					"containers": []any{map[string]any{"name": "main", "image": "registry.example/" + name + ":1", "resources": map[string]any{
						"requests": map[string]any{"cpu": "50m", "memory": "64Mi"},
					}}},
				}},
			}})
			add(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": map[string]any{
				"selector": labels, "ports": []any{map[string]any{"port": int64(80)}},
			}})
		}
	}
	return objects
}
