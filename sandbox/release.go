package sandbox

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/compatibility"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"

	"github.com/miniapiserver/miniapiserver/server"
)

// release is the release of Kubernetes that the programs of k8s.io/kubernetes in this process
// emulate. Their feature gates belong to the process, so it is chosen once.
var release struct {
	sync.Mutex
	chosen string
}

// errRelease is the error of a sandbox with another release than the first of the process.
var errRelease = errors.New("the kube-controller-manager and kube-scheduler of this process emulate the release of its first sandbox")

// chooseRelease makes the programs of the process emulate the release of a server's options. It
// fails if an earlier sandbox chose another one.
func chooseRelease(o server.Options) error {
	info := o.Version()
	chosen := info.Major + "." + info.Minor
	if info.EmulationMinor != "" {
		chosen = info.EmulationMajor + "." + info.EmulationMinor
	}
	release.Lock()
	defer release.Unlock()
	switch release.chosen {
	case chosen:
		return nil
	case "":
	default:
		return fmt.Errorf("--kubernetes-version %s: %w, %s", chosen, errRelease, release.chosen)
	}
	emulated, err := version.ParseMajorMinor(chosen)
	if err != nil {
		return fmt.Errorf("--kubernetes-version: %w", err)
	}
	defaults, err := options.NewKubeControllerManagerOptions() // registers the component
	if err != nil {
		return err
	}
	effective, ok := defaults.ComponentGlobalsRegistry.EffectiveVersionFor(compatibility.DefaultKubeComponent).(compatibility.MutableEffectiveVersion)
	if !ok {
		return errors.New("the version of k8s.io/kubernetes cannot be changed")
	}
	effective.SetEmulationVersion(emulated)
	if err := utilfeature.DefaultMutableFeatureGate.SetEmulationVersion(emulated); err != nil {
		return err
	}
	release.chosen = chosen
	return nil
}
