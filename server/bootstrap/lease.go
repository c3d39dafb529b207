package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"net/netip"
	"os"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/api"
	"github.com/miniapiserver/miniapiserver/controllers"
	"github.com/miniapiserver/miniapiserver/controllers/reconcile"
	"github.com/miniapiserver/miniapiserver/internal/features"
	"github.com/miniapiserver/miniapiserver/request"
)

// A server announces itself to other servers by a Lease, which it renews while it runs.
const (
	peerAnnotation  = "kubernetes.io/peer-advertise-address"
	identitySeconds = 3600
)

// Lease maintains the Lease of this server.
type Lease struct {
	*Publication
	host, name, holder string
}

// NewLease returns the Lease of this server, which Renew creates.
func NewLease(p *Publication) (*Lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	name := ServerID(host)
	return &Lease{Publication: p, host: host, name: name, holder: name + "_" + request.NewUUID()}, nil
}

// ServerID returns the identity of a server on a host, which is the name of its Lease: a digest
// of the host's name and the kind of server, each prefixed by its length.
func ServerID(host string) string {
	var b []byte
	for _, part := range []string{host, reconcile.ServerManager} {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(part))), part...)
	}
	sum := sha256.Sum256(b)
	return "apiserver-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// Renew renews the Lease, or creates it.
func (i *Lease) Renew(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: i.name, Namespace: metav1.NamespaceSystem}}
	return i.put(ctx, coordinationv1.SchemeGroupVersion, "leases", lease, func(obj api.Object) { i.sign(obj.(*coordinationv1.Lease)) })
}

// sign sets the fields of a Lease that identify this server.
func (i *Lease) sign(l *coordinationv1.Lease) {
	if l.Labels == nil {
		l.Labels = map[string]string{}
	}
	l.Labels[controllers.IdentityLabel], l.Labels[corev1.LabelHostname] = reconcile.ServerManager, i.host
	if i.Advertise.IsValid() && i.Gates.Enabled(features.UnknownVersionInteroperabilityProxy) {
		if l.Annotations == nil {
			l.Annotations = map[string]string{}
		}
		l.Annotations[peerAnnotation] = netip.AddrPortFrom(i.Advertise, uint16(i.Port)).String()
	}
	seconds, now := int32(identitySeconds), metav1.NewMicroTime(i.Now())
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds, l.Spec.RenewTime = &i.holder, &seconds, &now
}
