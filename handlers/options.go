package handlers

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// invalidOptions returns the error of invalid options.
func invalidOptions(kind string, errs field.ErrorList) error {
	return validation.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

// parseResourceVersion parses a resourceVersion. It returns zero for both "" and "0".
func parseResourceVersion(rv string) (int64, error) {
	if rv == "" || rv == "0" {
		return 0, nil
	}
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), rv, err.Error())
	}
	return int64(min(n, math.MaxInt64)), nil // either is a future revision
}

// errInvalidListVersion returns the error of a list whose resourceVersion is not a number.
func errInvalidListVersion(err error) error {
	return apierrors.NewBadRequest("invalid resource version: " + err.Error())
}

// errInvalidVersion returns the error of a get or a watch whose resourceVersion is not a
// number. It is a 500 in kube-apiserver, whose watch cache does not blame the client.
func errInvalidVersion(err error) error {
	return representation.NewStatusError(http.StatusInternalServerError, "", err.Error(), nil)
}

// readOfGet returns the required freshness of a get with a query. It refuses the parameter export.
func (c *call) readOfGet() (storage.Read, error) {
	if export := c.info.Query["export"]; len(export) > 0 {
		var asked bool
		if err := runtime.Convert_Slice_string_To_bool(&export, &asked, nil); err != nil {
			return storage.Read{}, apierrors.NewBadRequest("the export parameter cannot be parsed: " + err.Error())
		}
		if asked {
			return storage.Read{}, apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
		}
	}
	rv := c.info.Query.Get("resourceVersion")
	n, err := parseResourceVersion(rv)
	switch {
	case rv == "":
		return storage.Read{}, nil
	case err != nil && c.isUncached():
		return storage.Read{}, errInvalidListVersion(err)
	case err != nil:
		return storage.Read{}, errInvalidVersion(err)
	case n == 0:
		return storage.Read{Match: storage.Any}, nil
	}
	return storage.Read{Match: storage.NotOlderThan, Revision: n}, nil
}

// listOptions parses and validates the options of list, watch and deletecollection. On a
// watch path without the parameter watch, they are validated as those of a list.
func (c *call) listOptions() (*internalversion.ListOptions, error) {
	var v1 metav1.ListOptions
	q := c.info.Query
	if q == nil {
		q = url.Values{}
	}
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&q, &v1, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var o internalversion.ListOptions
	if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&v1, &o, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	internalversion.SetListOptionsDefaults(&o, !c.noWatchLists)
	if errs := listvalidation.ValidateListOptions(&o, !c.noWatchLists); len(errs) > 0 {
		return nil, invalidOptions("ListOptions", errs)
	}
	return &o, nil
}

// selection returns the selectors, with the field names of the hub version.
func (c *call) selection(o *internalversion.ListOptions) (registry.Selection, error) {
	s := registry.Selection{Labels: o.LabelSelector, Fields: o.FieldSelector}
	var err error
	if c.allowsShards && o.ShardSelector != "" {
		if s.Shard, err = parseShardSelector(o.ShardSelector); err != nil {
			return s, apierrors.NewBadRequest("invalid shard selector: " + err.Error())
		}
	}
	if s.Labels == nil {
		s.Labels = labels.Everything()
	}
	if s.Fields == nil || s.Fields.Empty() {
		s.Fields = fields.Everything()
		return s, nil
	}
	s.Fields, err = s.Fields.Transform(func(label, value string) (string, string, error) {
		hub, err := c.Resource.FieldLabel(c.Version, label)
		return hub, value, err
	})
	if err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	return s, nil
}

// readOfList returns the required freshness of a list without a continue token, by
// resourceVersion and resourceVersionMatch.
func readOfList(o *internalversion.ListOptions) (storage.Read, error) {
	n, err := parseResourceVersion(o.ResourceVersion)
	switch {
	case err != nil:
		return storage.Read{}, errInvalidListVersion(err)
	case o.ResourceVersion == "":
		return storage.Read{Match: storage.Consistent}, nil
	case n == 0:
		return storage.Read{Match: storage.Any}, nil
	case o.ResourceVersionMatch == metav1.ResourceVersionMatchExact,
		o.ResourceVersionMatch == "" && o.Limit > 0: // the meaning before resourceVersionMatch existed
		return storage.Read{Match: storage.Exact, Revision: n}, nil
	}
	return storage.Read{Match: storage.NotOlderThan, Revision: n}, nil
}

// writeOptions are the options that all writing verbs have.
type writeOptions struct {
	registry.WriteOptions
	force *bool
}

// writeOptions parses and validates the options of a write, which are of the given kind.
func (c *call) writeOptions(kind string, patchType types.PatchType) (writeOptions, error) {
	q := c.info.Query
	if q == nil && !slices.Contains(applyTypes, patchType) {
		return writeOptions{WriteOptions: registry.WriteOptions{Manager: ssa.ManagerName("", c.r.UserAgent())}}, nil
	}
	if q == nil {
		q = url.Values{}
	}
	var o metav1.PatchOptions
	if err := metav1.Convert_url_Values_To_v1_PatchOptions(&q, &o, nil); err != nil {
		return writeOptions{}, apierrors.NewBadRequest(err.Error())
	}
	var errs field.ErrorList
	switch kind {
	case "CreateOptions":
		errs = metavalidation.ValidateCreateOptions(&metav1.CreateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation})
	case "UpdateOptions":
		errs = metavalidation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: o.DryRun, FieldManager: o.FieldManager, FieldValidation: o.FieldValidation})
	case "PatchOptions":
		errs = metavalidation.ValidatePatchOptions(&o, patchType)
	}
	if len(errs) > 0 {
		return writeOptions{}, invalidOptions(kind, errs)
	}
	return writeOptions{
		WriteOptions: registry.WriteOptions{DryRun: len(o.DryRun) > 0, Manager: ssa.ManagerName(o.FieldManager, c.r.UserAgent()),
			FieldManager: o.FieldManager, FieldValidation: o.FieldValidation},
		force: o.Force,
	}, nil
}

// deleteOptions parses the options of a delete from the body or, if it is empty, from the
// query.
func (c *call) deleteOptions() (registry.DeleteOptions, error) {
	data, err := c.readBody()
	if err != nil {
		return registry.DeleteOptions{}, err
	}
	var o metav1.DeleteOptions
	if len(data) > 0 {
		if err = c.codec.DecodeDeleteOptions(c.r, data, &o); err == nil {
			c.auditDeleteOptions(&o)
		}
	} else if q := c.info.Query; q != nil {
		err = metav1.Convert_url_Values_To_v1_DeleteOptions(&q, &o, nil)
	}
	if _, isStatus := err.(apierrors.APIStatus); err != nil && !isStatus {
		err = apierrors.NewBadRequest(err.Error())
	}
	if err != nil {
		return registry.DeleteOptions{}, err
	}
	return registry.NewDeleteOptions(&o)
}
