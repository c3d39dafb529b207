package sandbox

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/yaml"
)

//go:embed stages
var stageFiles embed.FS

// podPresets lists the presets in the order in which --help shows them; each is made of files of
// stages/.
var podPresets = []struct {
	name  string
	files []string
}{
	{"fast", []string{"nodes", "observe", "commands", "terminate", "fast"}},
	{"realistic", []string{"nodes", "observe", "commands", "terminate", "realistic"}},
	{"chaotic", []string{"nodes", "observe", "commands", "terminate", "realistic", "chaotic"}},
}

// objectFiles are the files of stages/ for other kinds than Node and Pod.
var objectFiles = []string{"volumes", "addresses"}

// PodPresets returns the names of the behaviours of pods; the first is the default.
func PodPresets() []string {
	var names []string
	for _, p := range podPresets {
		names = append(names, p.name)
	}
	return names
}

// readStages reads the Stages of a preset, or those of a file, to which it adds the stages of nodes
// unless the file has some.
func readStages(pods string) (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	if pods == "" {
		pods = podPresets[0].name
	}
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, p := range podPresets {
		if p.name != pods {
			continue
		}
		for _, file := range p.files {
			if err := addBuiltIn(stages, file); err != nil {
				return nil, err
			}
		}
		return stages, nil
	}
	if !strings.ContainsAny(pods, "./") {
		return nil, fmt.Errorf("--pods %s: want %s, or a file of kwok Stages", pods, strings.Join(PodPresets(), ", "))
	}
	data, err := os.ReadFile(pods)
	if err != nil {
		return nil, fmt.Errorf("--pods: %w", err)
	}
	if err := addStages(stages, data); err != nil {
		return nil, fmt.Errorf("--pods %s: %w", pods, err)
	}
	if len(stages) == 0 {
		return nil, fmt.Errorf("--pods %s: no %s", pods, v1alpha1.StageKind)
	}
	for _, list := range stages {
		if _, err := lifecycle.NewLifecycle(list); err != nil {
			return nil, fmt.Errorf("--pods %s: %w", pods, err)
		}
	}
	if len(stages[internalversion.StageResourceRef{APIGroup: "v1", Kind: "Node"}]) > 0 {
		return stages, nil
	}
	return stages, addBuiltIn(stages, "nodes")
}

// readObjectStages reads the stages of objectFiles, except those of kinds that have stages already.
func readObjectStages(present map[internalversion.StageResourceRef][]*internalversion.Stage) (map[internalversion.StageResourceRef][]*internalversion.Stage, error) {
	stages := map[internalversion.StageResourceRef][]*internalversion.Stage{}
	for _, file := range objectFiles {
		if err := addBuiltIn(stages, file); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(stages, func(ref internalversion.StageResourceRef, _ []*internalversion.Stage) bool {
		return len(present[ref]) > 0
	})
	return stages, nil
}

func addBuiltIn(stages map[internalversion.StageResourceRef][]*internalversion.Stage, name string) error {
	data, err := stageFiles.ReadFile("stages/" + name + ".yaml")
	if err == nil {
		err = addStages(stages, data)
	}
	if err != nil {
		return fmt.Errorf("stages/%s.yaml: %w", name, err)
	}
	return nil
}

// addStages adds the Stages of a file of YAML documents.
func addStages(stages map[internalversion.StageResourceRef][]*internalversion.Stage, data []byte) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var published v1alpha1.Stage
		if err := yaml.UnmarshalStrict(document, &published); err != nil {
			return err
		}
		if published.Kind != v1alpha1.StageKind {
			return fmt.Errorf("kind %q: want %s", published.Kind, v1alpha1.StageKind)
		}
		stage, err := internalversion.ConvertToInternalStage(&published)
		if err != nil {
			return fmt.Errorf("stage %s: %w", published.Name, err)
		}
		ref := stage.Spec.ResourceRef
		stages[ref] = append(stages[ref], stage)
	}
}
