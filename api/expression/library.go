package expression

import (
	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/miniapiserver/miniapiserver/internal/kubeversion"
)

// Library is the set of functions that expressions may call. The zero value has all functions, which
// stored expressions may call: another release may have stored them.
type Library struct{ oldest kubeversion.Minor }

// NewExpressions returns the functions that new expressions may call: the functions of the oldest
// compatible release, so that this release can evaluate the expressions.
func NewExpressions(oldest kubeversion.Minor) Library { return Library{oldest} }

// Env returns the environment with the functions of the library, and without variables.
func (l Library) Env() *cel.Env { return l.of(l.set()) }

// Base returns the environments whose stored expressions may call kube-apiserver's functions, without
// variables.
func Base() *environment.EnvSet { return Library{}.set() }

// set returns the environments from which of chooses. All sets have the same environment of stored
// expressions; that of the default release is in memory anyway.
func (l Library) set() *environment.EnvSet {
	oldest := l.oldest
	if oldest.IsZero() {
		oldest = kubeversion.Default().MinCompatibility
	}
	return environment.MustBaseEnvSet(version.MajorMinor(uint(oldest.Major), uint(oldest.Minor)))
}

func (l Library) of(set *environment.EnvSet) *cel.Env {
	if l == (Library{}) {
		return set.StoredExpressionsEnv()
	}
	return set.NewExpressionsEnv()
}

// Writer decides which functions the expressions in a written object may call. The zero value permits
// all.
type Writer struct {
	// New is the library of new expressions.
	New Library
	// Stored reports whether the object had an expression before the write.
	Stored func(text string) bool
}

// Library returns the library of an expression.
func (w Writer) Library(text string) Library {
	if w.Stored != nil && w.Stored(text) {
		return Library{}
	}
	return w.New
}
