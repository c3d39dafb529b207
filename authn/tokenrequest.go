package authn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// TokenRequests issues tokens for creates of serviceaccounts/token.
type TokenRequests struct {
	Issuer *Issuer
	// Audiences are the audiences of tokens whose request names none.
	Audiences []string
	// MaxExpiration is the maximum lifetime of tokens; 0 means no limit.
	MaxExpiration time.Duration
	// MaxExtended is the maximum lifetime of extended tokens; 0 means a year.
	MaxExtended time.Duration
	// ExtendExpiration makes tokens that pods use for this server valid for a year, so that clients
	// which do not reread their token can be found before they break.
	ExtendExpiration bool
	// AnyAccountUID only warns about a request with the UID of another service account, and annotates its
	// audit event. Otherwise such a request is refused.
	AnyAccountUID bool
	Objects       Lookup
	// Attests returns an error unless a service account may attest something to webhooks. Nil turns off
	// tokens that are bound to webhook configurations.
	Attests func(ctx context.Context, user *request.User, info *request.Info) error
}

// projectedLifetime is the lifetime that the API server requests for tokens projected into pods.
// extendedLifetime replaces it if expiration is extended.
const (
	projectedLifetime = 3607 * time.Second
	extendedLifetime  = 365 * 24 * time.Hour
)

// complete sets what validating admission sees of a request.
func (t *TokenRequests) complete(sent api.Object) {
	if r, ok := sent.(*authenticationv1.TokenRequest); ok {
		t.defaultAudiences(r)
		r.CreationTimestamp = metav1.NewTime(t.Issuer.now())
	}
}

func (t *TokenRequests) defaultAudiences(r *authenticationv1.TokenRequest) {
	if len(r.Spec.Audiences) == 0 {
		r.Spec.Audiences = slices.Clone(t.Audiences)
	}
}

// Issue issues a token for a service account. r is a validated TokenRequest; Issue sets its status
// and returns it.
func (t *TokenRequests) Issue(ctx context.Context, namespace, name string,
	r *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	obj, err := t.Objects(ctx, "serviceaccounts", namespace, name, true)
	if err != nil {
		return nil, err
	}
	account, ok := obj.(*corev1.ServiceAccount)
	if !ok {
		return nil, fmt.Errorf("%T is no service account", obj)
	}
	if r.UID != "" && r.UID != account.UID {
		mismatch := fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", r.UID, account.UID)
		if !t.AnyAccountUID {
			return nil, apierrors.NewConflict(schema.GroupResource{Group: authenticationv1.GroupName, Resource: "TokenRequest"}, name, mismatch)
		}
		scope := request.From(ctx)
		scope.Annotate("authentication.k8s.io/token-request-uid-mismatch", mismatch.Error())
		scope.Warn(mismatch.Error() + " but TokenRequestServiceAccountUIDValidation is not enabled. In the future, this will return a conflict error")
	}
	t.defaultAudiences(r)
	if errs := attestationRules(&r.Spec); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}, "", errs)
	}
	to := boundToken{account: account, audiences: r.Spec.Audiences, attestations: r.Spec.Attestations}
	if err := t.bind(ctx, &to, &r.Spec); err != nil {
		return nil, err
	}
	t.setLifetime(ctx, &to, &r.Spec)
	now := t.Issuer.now()
	token, id, err := t.Issuer.issueBound(ctx, to, now)
	if errors.Is(err, errNoKey) {
		return nil, apierrors.NewInternalError(err)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to generate token: %w", err)
	}
	request.From(ctx).Annotate("authentication.kubernetes.io/issued-credential-id", "JTI="+id)
	r.Name, r.Namespace, r.CreationTimestamp = name, namespace, metav1.NewTime(now)
	r.Status = authenticationv1.TokenRequestStatus{
		Token:               token,
		ExpirationTimestamp: metav1.NewTime(now.Add(seconds(*r.Spec.ExpirationSeconds))),
	}
	return r, nil
}

func seconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Second))) * time.Second
}

// setLifetime sets the lifetime of the token and shortens the requested expiration to
// MaxExpiration.
func (t *TokenRequests) setLifetime(ctx context.Context, to *boundToken, spec *authenticationv1.TokenRequestSpec) {
	if longest := int64(t.MaxExpiration / time.Second); longest > 0 && *spec.ExpirationSeconds > longest {
		request.From(ctx).Warn(fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", *spec.ExpirationSeconds, longest))
		spec.ExpirationSeconds = &longest
	}
	to.lifetime = seconds(*spec.ExpirationSeconds)
	ours := len(intersect(t.Audiences, spec.Audiences)) == len(spec.Audiences)
	if t.ExtendExpiration && to.pod != nil && to.lifetime == projectedLifetime && ours {
		to.lifetime, to.warnAfter = min(extendedLifetime, cmp.Or(t.MaxExtended, extendedLifetime)), to.lifetime
	}
}

// bind sets the bound object of the token, which must exist.
func (t *TokenRequests) bind(ctx context.Context, to *boundToken, spec *authenticationv1.TokenRequestSpec) error {
	ref := spec.BoundObjectRef
	if ref == nil {
		return nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	resource, namespace := "", to.account.Namespace
	read := func() (api.Object, error) { return t.Objects(ctx, resource, namespace, ref.Name, true) }
	switch kind.GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		resource = "pods"
	case schema.GroupKind{Kind: "Secret"}:
		resource = "secrets"
	case schema.GroupKind{Kind: "Node"}:
		resource, namespace = "nodes", ""
	default:
		if webhookResource(kind) == "" {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", kind.String()))
		}
		read = func() (api.Object, error) { return t.webhookConfiguration(ctx, to.account, kind, spec) }
	}
	if err := registry.CheckPathName(ref.Name); err != nil {
		return err
	}
	obj, err := read()
	if err != nil {
		return err
	}
	if err := t.bindTo(ctx, to, obj); err != nil {
		return err
	}
	if ref.UID != "" && ref.UID != obj.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, ref.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return nil
}

func (t *TokenRequests) bindTo(ctx context.Context, to *boundToken, obj api.Object) error {
	ref := &reference{obj.GetName(), string(obj.GetUID())}
	switch o := obj.(type) {
	case *corev1.Secret:
		to.secret = ref
	case *corev1.Node:
		to.node = ref
	case *admissionv1.ValidatingWebhookConfiguration:
		to.validating = ref
	case *admissionv1.MutatingWebhookConfiguration:
		to.mutating = ref
	case *corev1.Pod:
		if o.Spec.ServiceAccountName != to.account.Name {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", to.account.Name))
		}
		to.pod = ref
		return t.addNode(ctx, to, o)
	}
	return nil
}

// addNode adds the node of the pod to the token. The node need not exist.
func (t *TokenRequests) addNode(ctx context.Context, to *boundToken, p *corev1.Pod) error {
	if p.Spec.NodeName == "" {
		return nil
	}
	to.node = &reference{Name: p.Spec.NodeName}
	node, err := t.Objects(ctx, "nodes", "", p.Spec.NodeName, false)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	to.node.UID = string(node.GetUID())
	return nil
}
