package layering

// policy says which package of this module may import which other.
//
//	a, b < c, d;     c and d may import a and b, and whatever those may
//	x !< ALL but c;  nobody but c may import x or what is below it; of two such
//	                 lines about one import, the one that names more of it holds
//
// A name stands for the directory and those below it, as far as they have no
// name of their own. Packages of one name may import each other; packages of
// one layer may not: who needs a sibling declares the interface it consumes, and
// server satisfies it. Names may be mentioned before their code arrives. Every
// ban has its reason, the comment before it. Tests may import what they like.
const policy = `
# Request info is a leaf: every layer reads what is asked for and by whom.
NONE < request;

# What a document may cost, whoever sent it.
NONE < internal/bounds < quickjson, internal/review;

# What expressions may cost.
internal/bounds < internal/celbounds < api;

# Where the parts of a JSON text are.
NONE < internal/jsonspan < quickjson;

# What those begin with who start goroutines.
NONE < internal/recovery < request;

# JSON, quickly.
internal/bounds < quickjson < api;

# Formats, which know no kind and no storage.
request < openapi, proto;

# The catalogue, generic and made at run time.
openapi, proto < api;

# What is done with objects: the merge algebra, and the revisioned store.
api < ssa, storage;

# What a verb means.
ssa, storage < registry;

# Where services lead, which whoever calls programs behind them has to know.
registry < registry/services;

# How webhooks are called, whatever they are asked.
registry/services < registry/hooks;

# What stands before a verb: who, whether, when, and what is remembered of it;
# and who else serves a part of the API.
registry/hooks < admission, authn, authz, apf, audit, aggregation;

# What clients meet, and clients of our own.
admission, authn, authz, apf, audit, aggregation < handlers, controllers;

# What puts it all together, and the commands. cmd is flags and nothing else.
handlers, controllers < server < cmd;

# Outside looking in: they take any server, by its URL or by starting one.
server < conformance, bench;

# This package.
NONE < internal/layering;

# Feature gates are a leaf: kinds, default roles and plugins follow them.
NONE < internal/features < api;

# What those ask who let another server decide.
NONE < internal/review < admission, authn, authz;

# What those ask whom other servers should not show just any certificate.
NONE < internal/peercert < registry/hooks, aggregation, server;

# Texts that are kept compressed, and put together so.
NONE < internal/compressed < handlers;

# What tests of several packages use.
NONE < internal/schematest, internal/filler;

# The server machinery is what this project is; it is written here, not imported.
k8s.io/kubernetes !< ALL;
k8s.io/apiserver !< ALL;
k8s.io/apiextensions-apiserver !< ALL;
k8s.io/kube-aggregator !< ALL;
k8s.io/component-base !< ALL;

# CEL function libraries are the field's own, and independent of the machinery.
k8s.io/apiserver/pkg/cel !< ALL but api, admission, authn, internal/celbounds;

# What the authorizer library of CEL asks through: an interface and a record.
k8s.io/apiserver/pkg/authorization/authorizer !< ALL but admission;

# Types of custom kinds and aggregation, published nowhere else. Kinds are named
# in the catalogue, and by those whose business a certain kind is.
k8s.io/apiextensions-apiserver/pkg/apis !< ALL but api, controllers;
k8s.io/kube-aggregator/pkg/apis !< ALL but api, aggregation, controllers, server;

# Generic code names no kind: what is particular to one is in its file in api.
# Loops, and the parts that evaluate objects of a certain kind (roles, policies,
# flow schemas ...), are about a kind by their nature, and server makes the
# objects that are there from the start.
k8s.io/api !< ALL but api, registry/services, registry/hooks, aggregation, server, controllers, admission, authn, authz, apf, conformance, bench;

# Aggregated discovery is a form of answer, and no kind that is served.
k8s.io/api/apidiscovery !< ALL but handlers, aggregation, conformance;

# Only storage knows that it is etcd: everybody else sees keys and revisions.
go.etcd.io !< ALL but storage;

# Routes are an affair of handlers: below them a request is a request.Info.
github.com/gorilla !< ALL but handlers;

# The server is no client of itself on the way of a request. It hands out a
# rest.Config to who embeds it; loops and tests are clients.
k8s.io/client-go !< ALL but server, controllers, conformance, bench;

# The paths of printer columns, which have nothing to do with being a client.
k8s.io/client-go/util/jsonpath !< ALL but api;

# Flags are read in one place.
github.com/spf13/pflag !< ALL but cmd;
flag !< ALL but conformance, bench;

# Logs are structured and have a level: log/slog.
log !< ALL but bench;
log/slog !< NONE;
k8s.io/klog !< ALL;

# Replaced by math/rand/v2, which is seeded.
math/rand !< ALL;
math/rand/v2 !< NONE;

# What helps tests stays out of the binary.
testing !< ALL but conformance, bench;
`
