package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/utils/lru"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/custom/structural"
	"github.com/miniapiserver/miniapiserver/api/since"
	"github.com/miniapiserver/miniapiserver/internal/clock"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
	"github.com/miniapiserver/miniapiserver/kinds"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/ssa"
)

// builtInKinds are the kinds of one configuration, with the managers of their fields. Nothing changes them, so that all
// servers of a process that have this configuration share them.
type builtInKinds struct {
	resources []*api.Resource
	fields    registry.FieldManagers
}

// recentKinds has the kinds of the last configurations of servers in this process, by configuration. It holds
// few: a process has servers of one configuration, or is a test.
var recentKinds = struct {
	sync.Mutex
	*lru.Cache
}{Cache: lru.New(4)}

// builtInKinds returns the kinds of some feature gates, each in the versions that --runtime-config enables. Those of a server whose
// clock can be moved are its own.
func (o Options) builtInKinds(gates features.Gates, now *clock.Clock) (*builtInKinds, error) {
	if now != nil {
		return o.newBuiltInKinds(gates, now)
	}
	key := fmt.Sprint(gates, o.RuntimeConfig, o.Emulation, o.Etcd.MediaType, o.Limits.MaxObjectBytes)
	recentKinds.Lock()
	defer recentKinds.Unlock()
	if known, ok := recentKinds.Get(key); ok {
		return known.(*builtInKinds), nil
	}
	k, err := o.newBuiltInKinds(gates, nil)
	if err == nil {
		recentKinds.Add(key, k)
	}
	return k, err
}

func (o Options) newBuiltInKinds(gates features.Gates, now *clock.Clock) (*builtInKinds, error) {
	serving, err := o.serving(gates)
	if err != nil {
		return nil, err
	}
	resources, err := api.Enable(kinds.Beside(o.oldestCompatible(serving.Release), gates, o.schemaRelease(serving.Release), now.Now), serving)
	if err != nil {
		return nil, fmt.Errorf("--runtime-config: %w", err)
	}
	if o.Emulation.Faithful {
		if err := since.Restrict(resources, serving.Release.Emulated); err != nil {
			return nil, fmt.Errorf("--faithful-emulation: %w", err)
		}
	}
	encoding := storageEncodings()[o.Etcd.MediaType]
	for _, r := range resources {
		r.MaxObjectBytes = o.Limits.MaxObjectBytes
		if r.Storage.Encoding == api.Protobuf {
			r.Storage.Encoding = encoding
		}
	}
	catalogue, err := api.New(resources...)
	if err != nil {
		return nil, err
	}
	return &builtInKinds{resources, registry.NewFieldManagers(resources, ssa.Published(catalogue))}, nil
}

// oldestCompatible returns the oldest release that new expressions and formats must suit. A faithful emulation
// of the oldest release that can be emulated has the one before it, as that release had.
func (o Options) oldestCompatible(release kubeversion.Effective) kubeversion.Minor {
	if o.Emulation.Faithful && o.Emulation.MinCompatibilityVersion == "" {
		return release.Emulated.Previous()
	}
	return release.MinCompatibility
}

// schemaRelease returns how schemas of custom resources are treated.
func (o Options) schemaRelease(release kubeversion.Effective) structural.Release {
	if !o.Emulation.Faithful {
		return structural.Release{}
	}
	return structural.NewRelease(release.Emulated, o.oldestCompatible(release))
}

// serving returns the choice of the served versions.
func (o Options) serving(gates features.Gates) (api.VersionOptions, error) {
	release, err := o.release()
	return api.VersionOptions{
		Config: o.RuntimeConfig, Gates: gates, Release: release,
		ForwardCompatible: o.Emulation.ForwardCompatible, ConfigForwardCompatible: o.Emulation.RuntimeConfigForwardCompatible,
		Faithful: o.Emulation.Faithful,
	}, err
}

// storageEncodings returns the encodings of stored objects by media type.
func storageEncodings() map[string]api.Encoding {
	return map[string]api.Encoding{
		"application/json": api.JSON, "application/yaml": api.YAML, "application/vnd.kubernetes.protobuf": api.Protobuf,
	}
}

func storageMediaTypes() []string { return slices.Sorted(maps.Keys(storageEncodings())) }

// storageMediaType is the value of --storage-media-type. An empty text means JSON, as in
// kube-apiserver.
func storageMediaType(field *string) *value[string] {
	v := text(field, "application/vnd.kubernetes.protobuf", func(mediaType string) error {
		if _, ok := storageEncodings()[mediaType]; !ok {
			return fmt.Errorf("%q invalid, allowed values: %s", mediaType, strings.Join(storageMediaTypes(), ", "))
		}
		return nil
	})
	v.parse = func(text string) (string, error) { return cmp.Or(text, "application/json"), nil }
	return v
}
