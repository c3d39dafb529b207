package lab

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapiserver/miniapiserver/lab/v1alpha1"
	"github.com/miniapiserver/miniapiserver/registry"
	"github.com/miniapiserver/miniapiserver/request"
)

// A Fault in a Go program reads as the spec of the kind Fault does; see Lab.Inject. The functions below return what to inject.
type (
	Fault     = v1alpha1.FaultSpec
	Match     = v1alpha1.FaultMatch
	When      = v1alpha1.FaultWhen
	Injection = v1alpha1.FaultInjection
)

// What Lose loses.
const (
	TheRequest    = v1alpha1.LoseRequest
	TheResponse   = v1alpha1.LoseResponse
	TheConnection = v1alpha1.LoseConnection
)

// Error has requests refused with an error, as the server sends it for that code.
func Error(code int32) Injection { return Injection{Error: &v1alpha1.FaultError{Code: code}} }

// Throttle has requests refused with 429, and a time after which the client may try again.
func Throttle(after time.Duration) Injection {
	return Injection{Error: &v1alpha1.FaultError{Code: 429, RetryAfterSeconds: int32(max(after.Round(time.Second)/time.Second, 1))}}
}

// Delay has requests wait for a time between two, at random.
func Delay(from, to time.Duration) Injection {
	return Injection{Delay: &v1alpha1.FaultDelay{Min: from.String(), Max: to.String()}}
}

// Lose has a response break off: TheRequest before the request has an effect, TheResponse after it, TheConnection with all requests on
// the connection.
func Lose(what string) Injection { return Injection{Lose: what} }

// Conflict has another writer change the object before a write of it.
func Conflict() Injection { return Injection{Conflict: &v1alpha1.FaultConflict{}} }

// Compact has etcd compacted before a request.
func Compact() Injection { return Injection{Compact: &v1alpha1.FaultCompact{}} }

// Stale has reads answered from states of that age, and events come late.
func Stale(age time.Duration) Injection {
	return Injection{Stale: &v1alpha1.FaultStale{Age: age.String()}}
}

// Lag has the server see changes of definitions, policies, roles and others so much later.
func Lag(d time.Duration) Injection { return Injection{Lag: d.String()} }

// Shuffle has writes do in a random order what kube-apiserver does in a random order, such as to ask a conversion webhook for the versions of
// other field managers.
func Shuffle() Injection { return Injection{Shuffle: &v1alpha1.FaultShuffle{}} }

// CloseWatch ends watches after a number of events.
func CloseWatch(afterEvents int64) Injection {
	return onWatch(v1alpha1.FaultWatch{Close: &v1alpha1.FaultClose{AfterEvents: afterEvents}})
}

// FreezeWatch has watches send nothing for a time.
func FreezeWatch(d time.Duration) Injection { return onWatch(v1alpha1.FaultWatch{Freeze: d.String()}) }

// DelayWatch has watches send each event so much later.
func DelayWatch(d time.Duration) Injection { return onWatch(v1alpha1.FaultWatch{Delay: d.String()}) }

// ExpireWatch ends watches with the error that their state is too old.
func ExpireWatch() Injection { return onWatch(v1alpha1.FaultWatch{Expire: &v1alpha1.FaultExpire{}}) }

// NoBookmarks has watches send no bookmarks.
func NoBookmarks() Injection {
	return onWatch(v1alpha1.FaultWatch{NoBookmarks: &v1alpha1.FaultNoBookmarks{}})
}

func onWatch(w v1alpha1.FaultWatch) Injection { return Injection{Watch: &w} }

// Inject creates a Fault, which acts when Inject returns, also on the requests that run, until remove is called or the server ends. It
// is an object as others are, called fault- and a random suffix: kubectl get faults lists it.
func (l *Lab) Inject(ctx context.Context, f Fault) (remove func(), err error) {
	obj, err := encode(&v1alpha1.Fault{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Fault"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "fault-"}, Spec: f})
	if err != nil {
		return nil, fmt.Errorf("creating a fault: %w", err)
	}
	t := registry.Target{Resource: l.faults, Version: &l.faults.Versions[0]}
	out, err := l.connections.Registry.Create(request.AsServer(ctx), t, obj, registry.WriteOptions{Manager: "lab"})
	if err != nil {
		return nil, fmt.Errorf("creating a fault: %w", err)
	}
	t.Name = out.Item.Name()
	l.meetRunning()
	return func() {
		// It fails if the server has ended or somebody else has deleted the Fault, which acts in neither case.
		_, _ = l.connections.Registry.Delete(request.AsServer(context.WithoutCancel(ctx)), t, registry.DeleteOptions{})
		l.meetRunning()
	}, nil
}
