package authn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/request"
)

// TokenRequests answers what is created at serviceaccounts/token: it issues a
// token for the account.
type TokenRequests struct {
	Issuer *Issuer
	// Audiences are those of tokens for which none are asked for: the names that
	// this server goes by.
	Audiences []string
	// Longest bounds how long tokens are good; 0 means as long as is asked for.
	Longest time.Duration
	// Extend makes tokens that pods use for this server good for a year, so that
	// those who do not read theirs again can be found before they break.
	Extend  bool
	Objects Lookup
}

// projectedLifetime is what the tokens that the server mounts into pods ask for;
// extendedLifetime is what they get if they are extended.
const (
	projectedLifetime = 3607 * time.Second
	extendedLifetime  = 365 * 24 * time.Hour
)

// Answer issues a token to the service account of a name. r keeps to the rules
// of its kind.
func (t *TokenRequests) Answer(ctx context.Context, namespace, name string, r *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	obj, err := t.Objects(ctx, "serviceaccounts", namespace, name, true)
	if err != nil {
		return nil, err
	}
	account, ok := obj.(*corev1.ServiceAccount)
	if !ok {
		return nil, fmt.Errorf("%T is no service account", obj)
	}
	if len(r.Spec.Audiences) == 0 {
		r.Spec.Audiences = slices.Clone(t.Audiences)
	}
	to := boundTo{account: account, audiences: r.Spec.Audiences}
	if err := t.bind(ctx, &to, r.Spec.BoundObjectRef); err != nil {
		return nil, err
	}
	t.limit(ctx, &to, &r.Spec)
	now := t.Issuer.now()
	token, id, err := t.Issuer.bound(to, now)
	if errors.Is(err, ErrNoKey) {
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

// limit tells how long the token is good.
func (t *TokenRequests) limit(ctx context.Context, to *boundTo, spec *authenticationv1.TokenRequestSpec) {
	if longest := int64(t.Longest / time.Second); longest > 0 && *spec.ExpirationSeconds > longest {
		request.From(ctx).Warn(fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", *spec.ExpirationSeconds, longest))
		spec.ExpirationSeconds = &longest
	}
	to.lifetime = seconds(*spec.ExpirationSeconds)
	ours := len(intersect(t.Audiences, spec.Audiences)) == len(spec.Audiences)
	if t.Extend && to.pod != nil && to.lifetime == projectedLifetime && ours {
		to.lifetime, to.warnAfter = extendedLifetime, to.lifetime
	}
}

// bind looks up what the token is to be bound to, which must be there.
func (t *TokenRequests) bind(ctx context.Context, to *boundTo, ref *authenticationv1.BoundObjectReference) error {
	if ref == nil {
		return nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	resource, namespace := "", to.account.Namespace
	switch kind.GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		resource = "pods"
	case schema.GroupKind{Kind: "Secret"}:
		resource = "secrets"
	case schema.GroupKind{Kind: "Node"}:
		resource, namespace = "nodes", ""
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", kind.String()))
	}
	if ref.Name == "" {
		return apierrors.NewBadRequest("Name parameter required.")
	}
	obj, err := t.Objects(ctx, resource, namespace, ref.Name, true)
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

func (t *TokenRequests) bindTo(ctx context.Context, to *boundTo, obj api.Object) error {
	ref := &reference{obj.GetName(), string(obj.GetUID())}
	switch o := obj.(type) {
	case *corev1.Secret:
		to.secret = ref
	case *corev1.Node:
		to.node = ref
	case *corev1.Pod:
		if o.Spec.ServiceAccountName != to.account.Name {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", to.account.Name))
		}
		to.pod = ref
		return t.placeOf(ctx, to, o)
	}
	return nil
}

// placeOf says in the token on which node the pod runs, if it does; the node
// need not be there.
func (t *TokenRequests) placeOf(ctx context.Context, to *boundTo, p *corev1.Pod) error {
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
