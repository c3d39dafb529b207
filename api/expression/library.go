package expression

import (
	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	apicel "k8s.io/apiserver/pkg/cel"
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

// NewEnv returns the environment of stored expressions, which may call all functions, with variables and the types
// that these need.
func NewEnv(variables []cel.EnvOption, types ...*apicel.DeclType) (*cel.Env, error) {
	set, err := extend(Library{}.set(), variables, types...)
	if err != nil {
		return nil, err
	}
	return set.StoredExpressionsEnv(), nil
}

// extend adds options and types to the environments of all releases.
func extend(set *environment.EnvSet, options []cel.EnvOption, types ...*apicel.DeclType) (*environment.EnvSet, error) {
	return set.Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: types})
}

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
