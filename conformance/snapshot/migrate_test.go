package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/server"
	"github.com/miniapiserver/miniapiserver/storage"
)

const migratorName = "storage-version-migrator-controller"

// TestMigrateEveryKind configures encryption for all resources, and creates a
// StorageVersionMigration for every resource. Then every object is encrypted.
func TestMigrateEveryKind(t *testing.T) {
	dir, encryption := t.TempDir(), filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(encryption, []byte(`{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: ["*.*"], providers: [
		{aesgcm: {keys: [{name: key, secret: AAECAwQFBgcICQoLDA0ODw==}]}}, {identity: {}}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	resources := 0
	t.Run("migrate", func(t *testing.T) {
		off := slices.DeleteFunc(controllers.Names(), func(name string) bool { return name == migratorName })
		s, err := server.Start(t.Context(), server.Options{Dir: dir, Etcd: server.Etcd{Snapshot: snapshotFile},
			Encryption: server.Encryption{ConfigFile: encryption}, Controllers: server.Controllers{Off: off},
			RuntimeConfig: map[string]string{"api/all": "true"}, FeatureGates: map[string]bool{"AllAlpha": true, "AllBeta": true}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		c := newClient(t, s)
		names := map[string]metav1.GroupResource{}
		for _, version := range c.versions() {
			var served metav1.APIResourceList
			if version == "/apis/etcdref.aggr.example/v1" {
				continue // aggregated, its server is not available
			}
			c.get(version, &served)
			group, _, _ := strings.Cut(served.GroupVersion, "/")
			if group == "v1" {
				group = ""
			}
			for _, r := range served.APIResources {
				if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "patch") || r.Name == "storageversionmigrations" {
					continue
				}
				names[r.Name+"."+group] = metav1.GroupResource{Group: group, Resource: r.Name}
			}
		}
		// Migrations are migrated last, because a migration of all of them changes itself.
		names["zz"] = metav1.GroupResource{Group: "storagemigration.k8s.io", Resource: "storageversionmigrations"}
		const path = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
		for name, resource := range names {
			body, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "m" + strings.TrimSuffix(name, ".")}, "spec": map[string]any{"resource": resource}})
			if err != nil {
				t.Fatal(err)
			}
			if code, answer := c.do(http.MethodPost, path, string(body)); code != http.StatusCreated {
				t.Fatalf("%s: %d %s", name, code, answer)
			}
		}
		resources = len(names)
		for name := range names {
			var m storagemigrationv1.StorageVersionMigration
			for !meta.IsStatusConditionTrue(m.Status.Conditions, "Succeeded") {
				c.get(path+"/m"+strings.TrimSuffix(name, "."), &m)
				if meta.IsStatusConditionTrue(m.Status.Conditions, "Failed") {
					t.Fatalf("%s: %+v", name, m.Status)
				}
				if t.Context().Err() != nil {
					t.Fatalf("%s: %+v", name, m.Status)
				}
				time.Sleep(time.Millisecond)
			}
			if m.Status.ResourceVersion == "" || meta.IsStatusConditionTrue(m.Status.Conditions, "Running") {
				t.Errorf("%s: %+v", name, m.Status)
			}
		}
	})
	if resources < 65 {
		t.Errorf("only %d resources", resources)
	}
	encrypted := 0
	for key, s := range readKeys(t, storage.Options{Dir: filepath.Join(dir, "etcd")}) {
		switch {
		case strings.HasPrefix(key, "/registry/ranges/"), strings.HasPrefix(key, "/registry/masterleases/"), strings.HasPrefix(key, "/registry/peerserverleases/"):
			// no resources
		case !bytes.HasPrefix(s.value, []byte("k8s:enc:aesgcm:v1:key:")):
			t.Errorf("%s: %.40q", key, s.value)
		default:
			encrypted++
		}
	}
	if encrypted < 300 {
		t.Errorf("only %d objects", encrypted)
	}
}
