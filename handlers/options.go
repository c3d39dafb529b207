package handlers

import (
	"math"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
	"github.com/miniapiserver/miniapiserver/ssa"
	"github.com/miniapiserver/miniapiserver/storage"
)

// query returns the parameters of a request, which the chain has parsed; nil, which
// reads as empty, if there are none.
func query(r *http.Request) url.Values { return request.From(r.Context()).Info.Query }

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

// parseResourceVersion reads a resourceVersion that names a state. Zero stands
// for "" and "0" both.
func parseResourceVersion(rv string) (int64, error) {
	if rv == "" || rv == "0" {
		return 0, nil
	}
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), rv, err.Error())
	}
	return int64(min(n, math.MaxInt64)), nil // a future revision either way
}

// errListVersion is the answer to a list with a resourceVersion that is no number.
func errListVersion(err error) error {
	return apierrors.NewBadRequest("invalid resource version: " + err.Error())
}

// errVersion is the answer to a get or a watch with a resourceVersion that is no
// number: kube-apiserver's watch cache does not say whose fault that is.
func errVersion(err error) error {
	return representation.NewStatusError(http.StatusInternalServerError, "", err.Error(), nil)
}

// getRead is how fresh a get must be.
func (c *call) getRead() (storage.Read, error) {
	rv := c.info.Query.Get("resourceVersion")
	n, err := parseResourceVersion(rv)
	switch {
	case err != nil && c.Resource.Storage.Uncached:
		return storage.Read{}, errListVersion(err)
	case err != nil:
		return storage.Read{}, errVersion(err)
	case rv == "":
		return storage.Read{}, nil
	case n == 0:
		return storage.Read{Match: storage.Any}, nil
	}
	return storage.Read{Match: storage.NotOlderThan, Revision: n}, nil
}

// listOptions reads and checks the options of list, watch and deletecollection. On a
// watch path that has no parameter watch, they are checked as those of a list.
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
	internalversion.SetListOptionsDefaults(&o, true)
	if err := invalidOptions("ListOptions", listvalidation.ValidateListOptions(&o, true)); err != nil {
		return nil, err
	}
	return &o, nil
}

// selection turns the selectors into those of the hub.
func (c *call) selection(o *internalversion.ListOptions) (registry.Selection, error) {
	s := registry.Selection{Labels: o.LabelSelector, Fields: o.FieldSelector}
	if s.Labels == nil {
		s.Labels = labels.Everything()
	}
	if s.Fields == nil || s.Fields.Empty() {
		s.Fields = fields.Everything()
		return s, nil
	}
	var err error
	s.Fields, err = s.Fields.Transform(func(label, value string) (string, string, error) {
		hub, err := c.Resource.FieldLabel(c.Version, label)
		return hub, value, err
	})
	if err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	return s, nil
}

// listRead is the table of how fresh a list must be, by resourceVersion and
// resourceVersionMatch, for a list without a continue token.
func listRead(o *internalversion.ListOptions) (storage.Read, error) {
	n, err := parseResourceVersion(o.ResourceVersion)
	switch {
	case err != nil:
		return storage.Read{}, errListVersion(err)
	case o.ResourceVersion == "":
		return storage.Read{Match: storage.Consistent}, nil
	case n == 0:
		return storage.Read{Match: storage.Any}, nil
	case o.ResourceVersionMatch == metav1.ResourceVersionMatchExact,
		o.ResourceVersionMatch == "" && o.Limit > 0: // as it was before there was a match to ask for
		return storage.Read{Match: storage.Exact, Revision: n}, nil
	}
	return storage.Read{Match: storage.NotOlderThan, Revision: n}, nil
}

// writeOptions are what the writing verbs have in common.
type writeOptions struct {
	registry.WriteOptions
	force *bool
}

func (c *call) writeOptions(kind string, patchType types.PatchType) (writeOptions, error) {
	q := c.info.Query
	if q == nil && patchType != types.ApplyYAMLPatchType {
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
	if err := invalidOptions(kind, errs); err != nil {
		return writeOptions{}, err
	}
	return writeOptions{
		WriteOptions: registry.WriteOptions{DryRun: len(o.DryRun) > 0, Manager: ssa.ManagerName(o.FieldManager, c.r.UserAgent()),
			FieldManager: o.FieldManager, FieldValidation: o.FieldValidation},
		force: o.Force,
	}, nil
}

// deleteOptions come from the body or, when that is empty, from the query.
func (c *call) deleteOptions() (registry.DeleteOptions, error) {
	data, err := representation.ReadBody(c.w, c.r)
	if err != nil {
		return registry.DeleteOptions{}, err
	}
	var o metav1.DeleteOptions
	if len(data) > 0 {
		err = representation.DecodeDeleteOptions(c.r, data, &o)
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
