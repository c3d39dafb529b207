package handlers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

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

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/api/validation"
	"github.com/miniapiserver/miniapiserver/handlers/representation"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
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
func (c *call) errInvalidVersion(err error) error {
	recordRefusal(request.From(c.r.Context()), request.RefusedByDecoding, "")
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
		return storage.Read{}, c.errInvalidVersion(err)
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
	watchLists := c.gates.Enabled(features.WatchList)
	internalversion.SetListOptionsDefaults(&o, watchLists)
	if errs := listvalidation.ValidateListOptions(&o, watchLists); len(errs) > 0 {
		return nil, invalidOptions("ListOptions", errs)
	}
	return &o, nil
}

// selection returns the selectors, with the field names of the hub version.
func (c *call) selection(o *internalversion.ListOptions) (registry.Selection, error) {
	s := registry.Selection{Labels: o.LabelSelector, Fields: o.FieldSelector}
	var err error
	if o.ShardSelector != "" && c.gates.Enabled(features.ShardedListAndWatch) {
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

// page parses the options of a list, and the continue token, which is nil for the first page.
func (c *call) page() (registry.ListOptions, *continueToken, error) {
	o, selection, err := c.selectedBy()
	if err != nil {
		return registry.ListOptions{}, nil, err
	}
	return c.pageOf(o, selection)
}

// selectedBy returns the options of a list, and the selection that they ask for.
func (c *call) selectedBy() (*internalversion.ListOptions, registry.Selection, error) {
	o, err := c.listOptions()
	if err != nil {
		return nil, registry.Selection{}, err
	}
	selection, err := c.selection(o)
	return o, selection, err
}

// deleteCollectionPage is the size of the pages in which kube-apiserver lists what it deletes. Such a
// list at a version is that of this version exactly.
const deleteCollectionPage = 10000

// pageOf returns the page that the options of a list ask for.
func (c *call) pageOf(o *internalversion.ListOptions, selection registry.Selection) (registry.ListOptions, *continueToken, error) {
	page := registry.ListOptions{Selection: selection, Limit: max(o.Limit, 0)}
	token, err := parseContinue(o.Continue, o.ResourceVersion)
	switch {
	case err != nil:
		return page, nil, err
	case token != nil:
		page.Read, page.After = token.read(), token.after(c.keyPrefix())
	default:
		if c.info.Verb == api.VerbDeleteCollection && o.Limit == 0 {
			o.Limit = deleteCollectionPage // only for the meaning of the version
		}
		page.Read, err = readOfList(o)
	}
	if o.ResourceVersion == "0" && !c.isUncached() {
		page.Limit = 0 // the cache serves such a list without pages, like kube-apiserver
	}
	page.PageLimit = max(o.Limit, 0)
	return page, token, err
}

// isUncached reports whether kube-apiserver, with the same flags, has no watch cache for the resource.
func (c *call) isUncached() bool {
	return c.Resource.Storage.Uncached || c.uncached != nil && c.uncached(c.Resource.Versions[0].WithResource(c.Resource.Name).GroupResource())
}

// keyPrefix returns the prefix of the keys of all requested objects.
func (c *call) keyPrefix() string {
	if c.Namespace == "" {
		return ""
	}
	return c.Namespace + "/"
}

// errPage returns the error of a page: if its revision was compacted, the error has a token
// to continue with.
func errPage(token *continueToken, err error) error {
	if token != nil && apierrors.IsResourceExpired(err) {
		return errContinueExpired(token)
	}
	return err
}

// watchOptions returns where a watch begins, and what it selects.
func (h *Handler) watchOptions(c *call, o *internalversion.ListOptions) (registry.WatchOptions, error) {
	var w registry.WatchOptions
	var err error
	if w.Selection, err = c.selection(o); err != nil {
		return w, err
	}
	n, err := parseResourceVersion(o.ResourceVersion)
	if err != nil {
		return w, c.errInvalidVersion(err)
	}
	switch {
	case o.SendInitialEvents != nil && *o.SendInitialEvents:
		w.Initial, w.InitialEventsEnd, w.Verify = true, o.AllowWatchBookmarks, true
		if n > 0 {
			w.Read = storage.Read{Match: storage.NotOlderThan, Revision: n}
		} else if o.ResourceVersion == "0" {
			w.Read.Match = storage.Any
		}
	case n > 0:
		w.Revision = n
	case o.SendInitialEvents != nil:
		// The watch begins now: it has neither an initial state nor a revision.
	default:
		w.Initial = true
		if o.ResourceVersion == "0" {
			w.Read.Match = storage.Any
		}
	}
	w.Bookmarks = o.AllowWatchBookmarks
	w.Deadline = time.Now().Add(h.watchTimeout(o.TimeoutSeconds))
	return w, nil
}

// watchTimeout returns the timeout that the client asks for. Without one it is random, at
// least MinRequestTimeout, so that clients do not reconnect at the same time.
func (h *Handler) watchTimeout(seconds *int64) time.Duration {
	if seconds != nil && *seconds != 0 { // a watch whose timeout is negative ends at once
		const day = int64(24 * time.Hour / time.Second)
		return time.Duration(min(max(*seconds, -day), day)) * time.Second
	}
	return time.Duration(float64(h.MinRequestTimeout) * (1 + rand.Float64()))
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
		return writeOptions{WriteOptions: registry.WriteOptions{Manager: ssa.ManagerName("", c.r.UserAgent()), Shuffle: c.shuffle}}, nil
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
		errs = metavalidation.ValidateCreateOptions(&metav1.CreateOptions{DryRun: o.DryRun,
			FieldManager: o.FieldManager, FieldValidation: o.FieldValidation})
	case "UpdateOptions":
		errs = metavalidation.ValidateUpdateOptions(&metav1.UpdateOptions{DryRun: o.DryRun,
			FieldManager: o.FieldManager, FieldValidation: o.FieldValidation})
	case "PatchOptions":
		errs = metavalidation.ValidatePatchOptions(&o, patchType)
	}
	if len(errs) > 0 {
		return writeOptions{}, invalidOptions(kind, errs)
	}
	return writeOptions{
		WriteOptions: registry.WriteOptions{DryRun: len(o.DryRun) > 0, Manager: ssa.ManagerName(o.FieldManager, c.r.UserAgent()),
			FieldManager: o.FieldManager, FieldValidation: o.FieldValidation, Shuffle: c.shuffle},
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

// continueToken is the position at which the next page of a list begins. Its encoding
// is kube-apiserver's, so that a client may continue a list at another server.
type continueToken struct {
	Version string `json:"v"`
	// Revision is the revision of the list; -1 in the token that is returned when the
	// revision has been compacted, to continue with the state at that time.
	Revision int64 `json:"rv"`
	// Start is the smallest key that may follow, relative to the prefix of the list:
	// the last key of the previous page and a zero byte. It begins with a slash if the
	// page was one that kube-apiserver serves from its watch cache; both forms mean the same.
	Start string `json:"start"`
}

const (
	tokenVersion = "meta.k8s.io/v1"
	anyRevision  = -1
)

// String returns the encoded token.
func (t continueToken) String() string {
	t.Version = tokenVersion
	data, err := json.Marshal(t)
	if err != nil {
		return "" // a struct of strings and numbers has a JSON form
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func (t *continueToken) read() storage.Read {
	if t.Revision < 0 {
		return storage.Read{Match: storage.Consistent}
	}
	return storage.Read{Match: storage.Exact, Revision: t.Revision}
}

// after returns the last key of the previous page in a list below prefix.
func (t *continueToken) after(prefix string) string {
	return prefix + strings.TrimSuffix(t.relative(), "\x00")
}

// relative returns Start without its slash.
func (t *continueToken) relative() string { return strings.TrimPrefix(t.Start, "/") }

// tokenAfter returns the token for the page after key in a list below prefix; cached says
// that kube-apiserver serves such a list from its watch cache.
func tokenAfter(key, prefix string, revision int64, cached bool) string {
	start := strings.TrimPrefix(key, prefix) + "\x00"
	if cached {
		start = "/" + start
	}
	return continueToken{Revision: revision, Start: start}.String()
}

// parseContinue decodes a token. It returns nil if there is none.
func parseContinue(s, resourceVersion string) (*continueToken, error) {
	if s == "" {
		return nil, nil
	}
	bad := func(why string) (*continueToken, error) {
		return nil, apierrors.NewBadRequest("invalid continue token: " + why)
	}
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return bad("continue key is not valid: " + err.Error())
	}
	var t continueToken
	if err := json.Unmarshal(data, &t); err != nil {
		// The package of the Go type is kube-apiserver's.
		return bad("continue key is not valid: " + strings.ReplaceAll(err.Error(), "handlers.continueToken", "storage.continueToken"))
	}
	switch {
	case t.Version != tokenVersion:
		return bad(fmt.Sprintf("continue key is not valid: server does not recognize this encoded version %s", t.Version))
	case t.Revision == 0:
		return bad("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		return bad("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	case path.Clean("/"+t.relative()) != "/"+t.relative(): // must not leave the collection
		return bad(fmt.Sprintf("continue key is not valid: %s", t.Start))
	}
	if resourceVersion != "" && resourceVersion != "0" {
		return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	return &t, nil
}

// errContinueExpired reports that the revision of a paged list has been compacted, and
// carries the token to continue at the current revision.
func errContinueExpired(t *continueToken) error {
	s := representation.NewStatus(http.StatusGone, metav1.StatusReasonExpired,
		"The provided continue parameter is too old to display a consistent list result. You can start a new list without "+
			"the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "+
			"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "+
			"deleted between the time the first chunk was returned and now may show up in the list.", nil)
	s.Continue = continueToken{Revision: anyRevision, Start: t.relative()}.String()
	return &apierrors.StatusError{ErrStatus: *s}
}
