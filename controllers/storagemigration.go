package controllers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/storage"
)

const storageMigratorName = "storage-version-migrator-controller"

// absentResourceGrace is the time from the creation of a migration in which its resource may
// appear, such as a custom resource that is created together with the migration.
const absentResourceGrace = time.Minute

// storageMigrator rewrites all objects of the resource that a StorageVersionMigration names. An
// apply without any fields changes no object, so the server writes it only if its stored value
// would differ: if it has another version, or is not encrypted with the current key.
type storageMigrator struct {
	Config
	client                  *reconcile.Client
	migrations, definitions *api.Resource
}

func newStorageMigrator(c Config) Controller {
	m := &storageMigrator{Config: c, client: reconcile.NewClient(c.Handler, storageMigratorName),
		migrations: cmp.Or(c.Served(storagemigrationv1.SchemeGroupVersion, "storageversionmigrations"),
			c.Served(storagemigrationv1beta1.SchemeGroupVersion, "storageversionmigrations")),
		definitions: c.Served(apiextensionsv1.SchemeGroupVersion, "customresourcedefinitions")}
	if m.migrations == nil {
		return nil
	}
	// One worker, so that two migrations of a resource do not run at the same time.
	return &reconcile.Loop[string]{BaseConfig: c.BaseConfig, Name: storageMigratorName, Sync: m.sync,
		Sources: []reconcile.Source[string]{{Resource: m.migrations, Keys: reconcile.NameKey}}}
}

// sync takes a migration one step further. First it sets the resourceVersion, up to which objects
// are rewritten, then it rewrites them.
func (m *storageMigrator) sync(ctx context.Context, name string) (reconcile.Result, error) {
	migration, err := reconcile.GetObject[*storagemigrationv1.StorageVersionMigration](ctx, m.BaseConfig, m.migrations, "", name)
	if err != nil || migration == nil || hasEnded(migration) {
		return reconcile.Done, err
	}
	migration = migration.DeepCopy()
	res := m.resource(migration.Spec.Resource)
	if res == nil {
		if left := absentResourceGrace - m.Now().Sub(migration.CreationTimestamp.Time); left > 0 {
			return reconcile.Poll(min(left, time.Second)), nil
		}
		return reconcile.AfterWrite(m.fail(ctx, migration, "resource does not exist in discovery"))
	}
	list, err := m.Registry.List(ctx, registry.Target{Resource: res, Version: &res.Versions[0]}, registry.ListOptions{})
	if err != nil {
		return reconcile.Done, fmt.Errorf("list %s: %w", res.Name, err)
	}
	if migration.Status.ResourceVersion == "" {
		migration.Status.ResourceVersion = fmt.Sprint(list.Revision)
		return reconcile.AfterWrite(m.writeStatus(ctx, migration)) // the change triggers the next sync
	}
	return m.migrate(ctx, migration, res, list.Items)
}

// migrate rewrites items, which are those of the resource of a migration.
func (m *storageMigrator) migrate(ctx context.Context, migration *storagemigrationv1.StorageVersionMigration,
	res *api.Resource, items []*storage.Item) (reconcile.Result, error) {
	if m.setCondition(migration, storagemigrationv1.MigrationRunning, "StorageVersionMigrationInProgress", "") {
		if err := m.writeStatus(ctx, migration); err != nil {
			return reconcile.AfterWrite(err)
		}
	}
	definition, err := m.beginDefinition(ctx, migration)
	if err != nil {
		return reconcile.AfterWrite(err)
	}
	for _, item := range items {
		if ctx.Err() != nil {
			return reconcile.Done, ctx.Err()
		}
		err := m.rewrite(ctx, migration.Status.ResourceVersion, res, item)
		switch {
		case err == nil:
		case isTransient(err):
			return reconcile.Done, err
		default:
			if definition != nil {
				if err := m.endDefinition(ctx, definition, false); err != nil {
					return reconcile.AfterWrite(err)
				}
			}
			return reconcile.AfterWrite(m.fail(ctx, migration, err.Error()))
		}
	}
	if definition != nil {
		if err := m.endDefinition(ctx, definition, true); err != nil {
			return reconcile.AfterWrite(err)
		}
	}
	m.setCondition(migration, storagemigrationv1.MigrationSucceeded, "StorageVersionMigrationSucceeded", "")
	return reconcile.AfterWrite(m.writeStatus(ctx, migration))
}

// rewrite rewrites an object, unless it was written after the resourceVersion of the migration.
// The uid and the resourceVersion in the patch prevent that it creates a deleted object again.
func (m *storageMigrator) rewrite(ctx context.Context, upTo string, res *api.Resource, item *storage.Item) error {
	if later, err := resourceversion.CompareResourceVersion(item.ResourceVersion(), upTo); err != nil || later > 0 {
		return err
	}
	obj, err := item.Object()
	if err != nil {
		return err
	}
	patch := map[string]any{
		"apiVersion": reconcile.ServedVersion(res).String(), "kind": res.Kind,
		"metadata": map[string]any{"name": item.Name(), "uid": obj.GetUID(), "resourceVersion": item.ResourceVersion()},
	}
	path := reconcile.ObjectPath(res, item.Namespace(), item.Name()) + "?fieldManager=" + url.QueryEscape(storageMigratorName)
	// An object that was written, deleted or replaced meanwhile needs no migration.
	return reconcile.IgnoreDeleted(m.client.Do(ctx, http.MethodPatch, path, "application/apply-patch+yaml", patch, nil))
}

// resource returns the served resource of a group, or nil.
func (m *storageMigrator) resource(wanted metav1.GroupResource) *api.Resource {
	for _, res := range m.Catalogue.Resources() {
		inGroup := func(v api.Version) bool { return v.Group == wanted.Group }
		if res.Name == wanted.Resource && res.Virtual == nil && slices.ContainsFunc(res.Versions, inGroup) {
			return res
		}
	}
	return nil
}

// beginDefinition records in the definition of a custom resource that a migration runs. It
// returns nil for other resources.
func (m *storageMigrator) beginDefinition(ctx context.Context,
	migration *storagemigrationv1.StorageVersionMigration) (*apiextensionsv1.CustomResourceDefinition, error) {
	if m.definitions == nil {
		return nil, nil
	}
	name := migration.Spec.Resource.Resource + "." + migration.Spec.Resource.Group
	definition, err := reconcile.GetObject[*apiextensionsv1.CustomResourceDefinition](ctx, m.BaseConfig, m.definitions, "", name)
	if err != nil || definition == nil {
		return nil, err
	}
	return m.patchDefinition(ctx, definition, nil, apiextensionsv1.CustomResourceDefinitionCondition{
		Status: apiextensionsv1.ConditionTrue, Reason: "MigrationRunning", Message: "Migration " + migration.Name + " is running"})
}

// endDefinition records the end of a migration. If the definition has not changed since its
// begin, all objects are stored in the storage version.
func (m *storageMigrator) endDefinition(ctx context.Context, begun *apiextensionsv1.CustomResourceDefinition, succeeded bool) error {
	definition, err := reconcile.GetObject[*apiextensionsv1.CustomResourceDefinition](ctx, m.BaseConfig, m.definitions, "", begun.Name)
	if err != nil || definition == nil || definition.UID != begun.UID {
		return err
	}
	if !succeeded {
		_, err := m.patchDefinition(ctx, definition, nil, apiextensionsv1.CustomResourceDefinitionCondition{
			Status: apiextensionsv1.ConditionTrue, Reason: "MigrationFailed", Message: "The migration has failed"})
		return err
	}
	var stored []string
	message := "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"
	if definition.Generation == begun.Generation {
		message = "The migration has succeeded and the stored versions have been updated"
		for _, v := range definition.Spec.Versions {
			if v.Storage {
				stored = []string{v.Name}
			}
		}
	}
	_, err = m.patchDefinition(ctx, definition, stored, apiextensionsv1.CustomResourceDefinitionCondition{
		Status: apiextensionsv1.ConditionFalse, Reason: "MigrationSucceeded", Message: message})
	return err
}

// patchDefinition sets the condition StorageMigrating and, unless stored is nil, the stored
// versions.
func (m *storageMigrator) patchDefinition(ctx context.Context, d *apiextensionsv1.CustomResourceDefinition,
	stored []string, c apiextensionsv1.CustomResourceDefinitionCondition) (*apiextensionsv1.CustomResourceDefinition, error) {
	c.Type, c.ObservedGeneration, c.LastTransitionTime = apiextensionsv1.StorageMigrating, d.Generation, metav1.NewTime(m.Now())
	conditions := []apiextensionsv1.CustomResourceDefinitionCondition{}
	for _, old := range d.Status.Conditions {
		if old.Type != c.Type {
			conditions = append(conditions, old)
		} else if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	status := map[string]any{"conditions": append(conditions, c)}
	if stored != nil {
		status["storedVersions"] = stored
	}
	out := &apiextensionsv1.CustomResourceDefinition{}
	err := m.client.Do(ctx, http.MethodPatch, reconcile.ObjectPath(m.definitions, "", d.Name)+"/status", "application/merge-patch+json",
		map[string]any{"metadata": map[string]any{"uid": d.UID, "resourceVersion": d.ResourceVersion}, "status": status}, out)
	return out, err
}

// fail ends a migration with an error.
func (m *storageMigrator) fail(ctx context.Context, migration *storagemigrationv1.StorageVersionMigration, message string) error {
	m.setCondition(migration, storagemigrationv1.MigrationFailed, "StorageVersionMigrationFailed",
		"migration encountered unhandled error: "+message)
	return m.writeStatus(ctx, migration)
}

// setCondition sets a condition to true, and Running to false at the end. It reports whether
// anything changed.
func (m *storageMigrator) setCondition(migration *storagemigrationv1.StorageVersionMigration,
	kind storagemigrationv1.MigrationConditionType, reason, message string) bool {
	conditions := &migration.Status.Conditions
	now := metav1.NewTime(m.Now())
	if running := meta.FindStatusCondition(*conditions,
		string(storagemigrationv1.MigrationRunning)); running != nil && kind != storagemigrationv1.MigrationRunning {
		running.Status, running.LastTransitionTime = metav1.ConditionFalse, now
	}
	return meta.SetStatusCondition(conditions, metav1.Condition{Type: string(kind), Status: metav1.ConditionTrue,
		Reason: reason, Message: message, LastTransitionTime: now})
}

// writeStatus writes the status of a migration, which gets the new resourceVersion.
func (m *storageMigrator) writeStatus(ctx context.Context, migration *storagemigrationv1.StorageVersionMigration) error {
	return m.client.Do(ctx, http.MethodPut, reconcile.ObjectPath(m.migrations, "", migration.Name)+"/status",
		"application/json", migration, migration)
}

// hasEnded reports whether a migration has succeeded or failed.
func hasEnded(m *storagemigrationv1.StorageVersionMigration) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationSucceeded)) ||
		meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationFailed))
}

// isTransient reports whether a request that failed may succeed later.
func isTransient(err error) bool {
	return apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTimeout(err)
}
