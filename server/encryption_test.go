package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miniapiserver/miniapiserver/internal/eventually"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/miniapiserver/miniapiserver/internal/kmstest"
)

// Keys for tests.
const (
	encryptionKeyA = "RcX2fBbLNGtggcqz46+yWN8jk2ddmvod/X80IDbksxc="
	encryptionKeyB = "J2q1JTUHTKr8Ma7vdPiX6ROwEyyXACYylu6caRczqTc="
)

// encryptionConfig writes a configuration with rules, each resources and providers, to a file.
func encryptionConfig(t *testing.T, file string, rules ...string) {
	t.Helper()
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
	for n := 0; n+1 < len(rules); n += 2 {
		text += fmt.Sprintf("- {resources: [%s], providers: [%s]}\n", rules[n], rules[n+1])
	}
	if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file)); err != nil {
		t.Fatal(err)
	}
}

// keyProvider returns a provider with a key.
func keyProvider(provider, name, secret string) string {
	return fmt.Sprintf("{%s: {keys: [{name: %s, secret: %q}]}}", provider, name, secret)
}

// storedText returns the value of a key in etcd.
func storedText(t *testing.T, s *Server, key string) string {
	t.Helper()
	got, err := s.store.Client().Get(t.Context(), key)
	if err != nil || len(got.Kvs) != 1 {
		t.Fatalf("%s: %v, %v", key, got, err)
	}
	return string(got.Kvs[0].Value)
}

var widgetResource = schema.GroupVersionResource{Group: "enc.example.com", Version: "v1", Resource: "widgets"}

// createWidgets creates the definition of the custom kind Widget, and returns its resource when it is
// served.
func createWidgets(t *testing.T, s *Server) dynamic.ResourceInterface {
	t.Helper()
	c, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.enc.example.com"},
		"spec": map[string]any{"group": "enc.example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"}, "versions": []any{
			map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}},
	}}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := c.Resource(definitions).Create(t.Context(), definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	widgets := c.Resource(widgetResource).Namespace("enc")
	eventually.Succeeds(t, "widgets are served", func() error {
		_, err := widgets.List(t.Context(), metav1.ListOptions{})
		return err
	})
	return widgets
}

func createNamespace(t *testing.T, s *Server, name string) {
	t.Helper()
	_, err := clientOf(t, s.RESTConfig()).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// TestEncryptedByKubeAPIServer serves values that kube-apiserver encrypted, as it served them.
func TestEncryptedByKubeAPIServer(t *testing.T) {
	const data = "../storage/encryption/testdata/kube-apiserver"
	s := run(t, Options{Encryption: Encryption{ConfigFile: data + ".yaml"}})
	createNamespace(t, s, "enc")
	createWidgets(t, s)
	var values map[string][]byte
	var objects []unstructured.Unstructured
	for file, into := range map[string]any{data + ".json": &values, data + "-objects.json": &objects} {
		text, err := os.ReadFile(file)
		if err = errors.Join(err, json.Unmarshal(text, into)); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range values {
		if _, err := s.store.Client().Put(t.Context(), key, string(value)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	plurals := map[string]string{"Secret": "secrets", "ConfigMap": "configmaps", "Deployment": "deployments", "Widget": "widgets"}
	for _, want := range objects {
		gvk := want.GroupVersionKind()
		got, err := c.Resource(gvk.GroupVersion().WithResource(plurals[gvk.Kind])).Namespace("enc").Get(t.Context(), want.GetName(), metav1.GetOptions{})
		if err != nil {
			t.Errorf("%s: %v", gvk.Kind, err)
			continue
		}
		got.SetResourceVersion(want.GetResourceVersion()) // the values were put at other revisions
		if gvk.Kind == "Deployment" {
			unstructured.RemoveNestedField(got.Object, "status") // its controller has not run here
			unstructured.RemoveNestedField(want.Object, "status")
		}
		if !reflect.DeepEqual(got.Object, want.Object) {
			t.Errorf("%s:\n%v\nkube-apiserver has\n%v", gvk.Kind, got.Object, want.Object)
		}
	}
}

// TestEncryptedResources creates objects of several kinds and looks at etcd. Then it restarts the
// server with another first key: a replace without a change encrypts with that key.
func TestEncryptedResources(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "encryption.yaml")
	rules := []string{
		"secrets", keyProvider("aescbc", "key1", encryptionKeyA) + ", {identity: {}}",
		"configmaps", keyProvider("secretbox", "box1", encryptionKeyA),
		"'*.apps'", keyProvider("aesgcm", "gcm1", encryptionKeyA),
		"widgets.enc.example.com", keyProvider("aesgcm", "gcm2", encryptionKeyB),
	}
	const plain = "hunter2-in-plain-text"
	var before *corev1.Secret
	t.Run("first key", func(t *testing.T) {
		encryptionConfig(t, file, rules...)
		var log lockedBuffer
		s := run(t, Options{Dir: dir, Encryption: Encryption{ConfigFile: file},
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		createNamespace(t, s, "enc")
		client, widgets := clientOf(t, s.RESTConfig()), createWidgets(t, s)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"password": []byte(plain)}}
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"k": plain}}
		widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "enc.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}, "spec": map[string]any{"a": plain}}}
		w, err := client.CoreV1().Secrets("enc").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		before, err = client.CoreV1().Secrets("enc").Create(t.Context(), secret, metav1.CreateOptions{})
		_, err2 := client.CoreV1().ConfigMaps("enc").Create(t.Context(), configMap, metav1.CreateOptions{})
		_, err3 := widgets.Create(t.Context(), widget, metav1.CreateOptions{})
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		for key, prefix := range map[string]string{
			"/registry/secrets/enc/s":                 "k8s:enc:aescbc:v1:key1:",
			"/registry/configmaps/enc/c":              "k8s:enc:secretbox:v1:box1:",
			"/registry/enc.example.com/widgets/enc/w": "k8s:enc:aesgcm:v1:gcm2:",
		} {
			if got := storedText(t, s, key); !strings.HasPrefix(got, prefix) || strings.Contains(got, plain) {
				t.Errorf("%s: %.60q", key, got)
			}
		}
		if e := <-w.ResultChan(); !bytes.Equal(e.Object.(*corev1.Secret).Data["password"], []byte(plain)) {
			t.Errorf("watch event: %v", e)
		}
		if got, err := widgets.Get(t.Context(), "w", metav1.GetOptions{}); err != nil || got.Object["spec"].(map[string]any)["a"] != plain {
			t.Errorf("%v, %v", got, err)
		}
		// A value that was moved to another key is refused, where the provider authenticates it.
		if _, err := s.store.Client().Put(t.Context(), "/registry/enc.example.com/widgets/enc/moved", storedText(t, s, "/registry/enc.example.com/widgets/enc/w")); err != nil {
			t.Fatal(err)
		}
		if _, err := widgets.Get(t.Context(), "moved", metav1.GetOptions{}); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `Key: /enc.example.com/widgets/enc/moved`) ||
			!strings.Contains(err.Error(), `aesgcm key "gcm2": cipher: message authentication failed`) {
			t.Errorf("a moved value: %v", err)
		}
		if _, err := s.store.Client().Delete(t.Context(), "/registry/enc.example.com/widgets/enc/moved"); err != nil {
			t.Fatal(err)
		}
		if text := log.String(); strings.Contains(text, plain) || strings.Contains(text, encryptionKeyA) {
			t.Error("the log shows a secret or a key")
		}
		if err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil || !info.Mode().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if bytes.Contains(content, []byte(plain)) {
				t.Errorf("%s has a secret in plain text", path)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	})
	t.Run("other key first", func(t *testing.T) {
		rules[1] = "{aescbc: {keys: [{name: key2, secret: \"" + encryptionKeyB + "\"}, {name: key1, secret: \"" + encryptionKeyA + "\"}]}}, {identity: {}}"
		encryptionConfig(t, file, rules...)
		s := run(t, Options{Dir: dir, Encryption: Encryption{ConfigFile: file}})
		secrets := clientOf(t, s.RESTConfig()).CoreV1().Secrets("enc")
		got, err := secrets.Get(t.Context(), "s", metav1.GetOptions{})
		if err != nil || !reflect.DeepEqual(got, before) {
			t.Fatalf("%v, %v, want %v", got, err, before)
		}
		after, err := secrets.Update(t.Context(), got, metav1.UpdateOptions{})
		if err != nil || after.ResourceVersion == got.ResourceVersion {
			t.Fatalf("the stale value was not written: %v, %v", after, err)
		}
		if text := storedText(t, s, "/registry/secrets/enc/s"); !strings.HasPrefix(text, "k8s:enc:aescbc:v1:key2:") {
			t.Errorf("%.40q", text)
		}
		again, err := secrets.Patch(t.Context(), "s", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		if err != nil || again.ResourceVersion != after.ResourceVersion {
			t.Errorf("a value that is not stale was written: %v, %v", again, err)
		}
	})
	t.Run("key lost", func(t *testing.T) {
		encryptionConfig(t, file, "secrets", keyProvider("aescbc", "key3", encryptionKeyB)+", {identity: {}}", rules[2], rules[3], rules[6], rules[7])
		b := startBroken(t, Options{Dir: dir, Encryption: Encryption{ConfigFile: file}})
		code, status := b.do(http.MethodGet, "/api/v1/namespaces/enc/secrets/s")
		const reason = "StorageError: corrupt object, Code: 7, Key: /secrets/enc/s, ResourceVersion: 0, AdditionalErrorMsg: data from the storage is not transformable revision=0: " +
			`no matching key was found for the provided AES transformer: the value names key "key2"`
		if code != http.StatusInternalServerError || status.Message != "Internal error occurred: "+reason {
			t.Errorf("%d %s", code, status.Message)
		}
		if code, status = b.do(http.MethodGet, "/api/v1/secrets"); code != http.StatusInternalServerError || status.Reason != metav1.StatusReasonStoreReadError {
			t.Errorf("list: %d %+v", code, status)
		}
		if code, _ = b.do(http.MethodDelete, "/api/v1/namespaces/enc/secrets/s"); code != http.StatusInternalServerError {
			t.Errorf("delete: %d", code)
		}
		if code, status = b.do(http.MethodDelete, "/api/v1/namespaces/enc/secrets/s"+unsafely); code != http.StatusOK {
			t.Errorf("unsafe delete: %d %+v", code, status)
		}
		if code, status = b.do(http.MethodGet, "/api/v1/namespaces/enc/secrets"); code != http.StatusOK {
			t.Errorf("list afterwards: %d %+v", code, status)
		}
	})
	t.Run("no configuration", func(t *testing.T) {
		b := startBroken(t, Options{Dir: dir})
		if code, status := b.do(http.MethodGet, "/api/v1/namespaces/enc/configmaps/c"); code != http.StatusInternalServerError || !strings.HasSuffix(status.Message, "identity transformer tried to read encrypted data") {
			t.Errorf("%d %s", code, status.Message)
		}
	})
}

// TestEncryptionConfigRefused checks that a server with a faulty configuration does not start, and
// says in one line which flag and field are at fault.
func TestEncryptionConfigRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	encryptionConfig(t, file, "secrets", keyProvider("aescbc", "key1", "c2hvcnQ="))
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Encryption: Encryption{ConfigFile: file}},
			"--encryption-provider-config: " + file +
				`: error while parsing file: resources[0].providers[0].aescbc.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected length, got 5, expected one of [16 24 32]`},
		{Options{Encryption: Encryption{ConfigFile: file + ".none"}},
			"--encryption-provider-config: error while parsing file: error while loading file: error reading encryption provider configuration file"},
		{Options{Encryption: Encryption{Reload: true}},
			"--encryption-provider-config-automatic-reload: must be set with --encryption-provider-config"},
	} {
		s, err := Start(t.Context(), tt.o)
		if err == nil {
			halt(t, s)
		}
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v\nwant %s", err, tt.want)
		}
	}
}

// TestEncryptionReload rotates the key of a running server under a load of writers: no write and no
// read fails, and in the end all values have the new key.
func TestEncryptionReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	encryptionConfig(t, file, "secrets", keyProvider("aesgcm", "old", encryptionKeyA))
	s := run(t, Options{Encryption: Encryption{ConfigFile: file, Reload: true}})
	client := raw(t, s)
	for _, check := range []string{"/healthz/kms-providers", "/readyz/kms-providers", "/readyz/poststarthook/start-encryption-provider-config-automatic-reload"} {
		if code, body := get(t, client, s.URL+check, s.Token); code != http.StatusOK {
			t.Errorf("%s: %d %s", check, code, body)
		}
	}
	if code, _ := get(t, client, s.URL+"/livez/kms-providers", s.Token); code != http.StatusNotFound {
		t.Errorf("/livez/kms-providers: %d", code)
	}
	secrets := clientOf(t, s.RESTConfig()).CoreV1().Secrets("default")
	const writers = 4
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var written atomic.Int64
	for n := range writers {
		secret, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", n)}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				want := fmt.Sprint(round)
				secret.Data = map[string][]byte{"n": []byte(want)}
				var err error
				if secret, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				if got, err := secrets.Get(t.Context(), secret.Name, metav1.GetOptions{}); err != nil || string(got.Data["n"]) != want {
					t.Errorf("read: %v, %v, want %s", got, err, want)
					return
				}
				written.Add(1)
			}
		})
	}
	idle, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "idle"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	encryptionConfig(t, file, "secrets", keyProvider("aesgcm", "new", encryptionKeyB)+", "+keyProvider("aesgcm", "old", encryptionKeyA))
	reloads := func(result, want string) {
		t.Helper()
		eventually.Succeeds(t, result, func() error {
			_, body := get(t, client, s.URL+"/metrics", s.Token)
			for line := range strings.Lines(body) {
				if strings.HasPrefix(line, "apiserver_encryption_config_controller_automatic_reloads_total{") && strings.Contains(line, `status="`+result+`"`) && strings.HasSuffix(line, "} "+want+"\n") {
					return nil
				}
			}
			return errors.New("no such reload")
		})
	}
	reloads("success", "1")
	target := written.Load() + 10*writers
	eventually.Succeeds(t, "more writes", func() error {
		if n := written.Load(); n < target && ctx.Err() == nil {
			return fmt.Errorf("%d of %d", n, target)
		}
		return nil
	})
	stop()
	wg.Wait()
	for n := range writers {
		if text := storedText(t, s, fmt.Sprint("/registry/secrets/default/s", n)); !strings.HasPrefix(text, "k8s:enc:aesgcm:v1:new:") {
			t.Errorf("%.40q", text)
		}
	}
	if text := storedText(t, s, "/registry/secrets/default/idle"); !strings.HasPrefix(text, "k8s:enc:aesgcm:v1:old:") {
		t.Errorf("%.40q", text)
	}
	// kube-controller-manager migrates the objects of a StorageVersionMigration by such a patch.
	migration := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"idle","namespace":"default","uid":%q,"resourceVersion":%q}}`, idle.UID, idle.ResourceVersion)
	if _, err := secrets.Patch(t.Context(), "idle", types.ApplyPatchType, []byte(migration), metav1.PatchOptions{FieldManager: "storage-version-migrator-controller"}); err != nil {
		t.Fatal(err)
	}
	if text := storedText(t, s, "/registry/secrets/default/idle"); !strings.HasPrefix(text, "k8s:enc:aesgcm:v1:new:") {
		t.Errorf("%.40q", text)
	}
	encryptionConfig(t, file) // no rules
	reloads("failure", "1")
	if _, err := secrets.Get(t.Context(), "idle", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestEncryptionKMS encrypts with a KMS plugin that is killed and comes back.
func TestEncryptionKMS(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "encryption.yaml")
	plugin := kmstest.New(filepath.Join(t.TempDir(), "kms.sock"), "key-1")
	if err := plugin.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plugin.Stop)
	encryptionConfig(t, file, "secrets", fmt.Sprintf("{kms: {apiVersion: v2, name: plug, endpoint: %q, timeout: 500ms}}, {identity: {}}", plugin.Endpoint()))
	var before *corev1.Secret
	t.Run("plugin killed", func(t *testing.T) {
		s := run(t, Options{Dir: dir, Encryption: Encryption{ConfigFile: file}})
		secrets, client := clientOf(t, s.RESTConfig()).CoreV1().Secrets("default"), raw(t, s)
		var err error
		if before, err = secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"k": []byte("v")}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if text := storedText(t, s, "/registry/secrets/default/s"); !strings.HasPrefix(text, "k8s:enc:kms:v2:plug:") {
			t.Errorf("%.40q", text)
		}
		plugin.Stop()
		if got, err := secrets.Get(t.Context(), "s", metav1.GetOptions{}); err != nil || !reflect.DeepEqual(got, before) {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "without-plugin"}}, metav1.CreateOptions{}); err != nil {
			t.Errorf("with the data key that the server has: %v", err)
		}
		if code, body := get(t, client, s.URL+"/livez", s.Token); code != http.StatusOK {
			t.Errorf("/livez: %d %s", code, body)
		}
	})
	s := run(t, Options{Dir: dir, Encryption: Encryption{ConfigFile: file}}) // while the plugin is down
	secrets, client := clientOf(t, s.RESTConfig()).CoreV1().Secrets("default"), raw(t, s)
	if code, body := get(t, client, s.URL+"/readyz/kms-providers", s.Token); code != http.StatusInternalServerError || !strings.Contains(body, "KMS Provider plug") {
		t.Errorf("/readyz/kms-providers: %d %s", code, body)
	}
	_, err := secrets.Get(t.Context(), "s", metav1.GetOptions{})
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "Key: /secrets/default/s") || !strings.Contains(err.Error(), `KMS provider "plug": failed to decrypt DEK`) {
		t.Errorf("read: %v", err)
	}
	_, err = secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "refused"}}, metav1.CreateOptions{})
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `KMS provider "plug" has no data key yet`) {
		t.Errorf("write: %v", err)
	}
	configMaps := clientOf(t, s.RESTConfig()).CoreV1().ConfigMaps("default")
	if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other-kind"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("another kind: %v", err)
	}
	if err := plugin.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.Succeeds(t, "the plugin is back", func() error {
		if code, body := get(t, client, s.URL+"/readyz", s.Token); code != http.StatusOK {
			return fmt.Errorf("%d %s", code, body)
		}
		list, err := secrets.List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) != 2 {
			err = fmt.Errorf("%d secrets", len(list.Items))
		}
		return err
	})
	if got, err := secrets.Get(t.Context(), "s", metav1.GetOptions{}); err != nil || !maps.EqualFunc(got.Data, before.Data, bytes.Equal) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "accepted"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

// TestEncryptionKMSAtStart starts a server, all of whose objects a KMS plugin encrypts, before the
// plugin.
func TestEncryptionKMSAtStart(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "encryption.yaml")
	plugin := kmstest.New(filepath.Join(t.TempDir(), "kms.sock"), "key-1")
	t.Cleanup(plugin.Stop)
	encryptionConfig(t, file, "'*.*'", fmt.Sprintf("{kms: {apiVersion: v2, name: plug, endpoint: %q, timeout: 200ms}}", plugin.Endpoint()))
	var log lockedBuffer
	o := Options{Dir: dir, Encryption: Encryption{ConfigFile: file}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	for _, name := range []string{"new data", "data of before"} {
		t.Run(name, func(t *testing.T) {
			started := make(chan error, 1)
			go func() {
				for !strings.Contains(log.String(), "KMS plugins are not healthy, retrying") && t.Context().Err() == nil {
					time.Sleep(5 * time.Millisecond)
				}
				started <- plugin.Start()
			}()
			run(t, o)
			if err := <-started; err != nil {
				t.Error(err)
			}
		})
		plugin.Stop()
		log = lockedBuffer{}
	}
	o.Etcd.InitializationTimeout = 300 * time.Millisecond
	s, err := Start(t.Context(), o)
	if err == nil {
		halt(t, s)
	}
	if err == nil || !strings.Contains(err.Error(), `KMS provider "plug": failed to decrypt DEK`) {
		t.Errorf("without the plugin: %v", err)
	}
}

// TestEncryptEverything encrypts all resources, also the ones that the server itself needs to start.
// It starts again with the same data, and with a snapshot of them.
func TestEncryptEverything(t *testing.T) {
	file, snapshot := filepath.Join(t.TempDir(), "encryption.yaml"), filepath.Join(t.TempDir(), "snapshot")
	encryptionConfig(t, file, "'*.*'", keyProvider("secretbox", "box", encryptionKeyA))
	o := Options{Dir: t.TempDir(), Encryption: Encryption{ConfigFile: file}}
	for _, o := range []Options{o, o, {Dir: t.TempDir(), Encryption: Encryption{ConfigFile: file},
		Etcd: Etcd{Snapshot: snapshot}}} {
		t.Run("start", func(t *testing.T) {
			s := run(t, o)
			createNamespace(t, s, "enc")
			createWidgets(t, s)
			got, err := s.store.Client().Get(t.Context(), "/registry/", clientv3.WithPrefix())
			if err != nil {
				t.Fatal(err)
			}
			for _, kv := range got.Kvs {
				isRaw := strings.HasPrefix(string(kv.Key), "/registry/masterleases/") || strings.HasPrefix(string(kv.Key), "/registry/ranges/") // no resources
				if !isRaw && !bytes.HasPrefix(kv.Value, []byte("k8s:enc:secretbox:v1:box:")) {
					t.Errorf("%s is not encrypted: %.40q", kv.Key, kv.Value)
				}
			}
			if o.Etcd.Snapshot != "" {
				return
			}
			r, err := s.store.Client().Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			data, err := io.ReadAll(r)
			if err = errors.Join(err, os.WriteFile(snapshot, data, 0o600)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// lockedBuffer is a buffer that several goroutines can write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
