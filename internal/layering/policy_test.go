package layering

// policy says which package of this module may import which other.
//
//	a, b < c, d;     c and d may import a and b, and whatever those may
//	x !< ALL but c;  nobody but c may import x or what is below it; of two such
//	                 lines about one import, the one that names more of it holds.
//	                 y stands for itself and all names within it
//
// A name stands for the directory and those below it, as far as they have no
// name of their own. Packages of one name may import each other; packages of
// one layer may not: who needs a sibling declares the interface it consumes, and
// server satisfies it. Names may be mentioned before their code arrives. Every
// ban has its reason, the comment before it. Tests may import what they like.
const policy = `
# Request info is a leaf: every layer reads what is asked for and by whom.
NONE < request;

# How the parts of a JSON text are found: the one scanner below all that reads bytes.
NONE < internal/jsonscan < internal/bounds, quickjson;

# What a document may cost, whoever sent it.
internal/jsonscan < internal/bounds < quickjson, internal/review;

# What expressions may cost.
internal/bounds < internal/celbounds < api/expression;

# What those begin with who start goroutines.
NONE < internal/recovery < request;

# JSON, quickly.
internal/bounds < quickjson < api/custom/untyped;

# Formats, which know no kind and no storage.
request < openapi, proto;

# The vocabularies in which kinds are described: CEL expressions, rules, printer
# columns, objects without a Go type.
NONE < api/expression < api/validation;
NONE < api/table;
openapi, proto < api/custom/untyped;
api/validation, api/table, api/custom/untyped < api;

# The kinds, a package for each group. The core group is several: other groups use the
# rules of pods and claims, and core uses a few kinds of other groups.
api < api/core/kubelet, api/core/claim, api/certificates, api/autoscaling/scale, api/authentication, api/workload;
api/core/kubelet, api/core/claim, api/certificates < api/core/pod < api/core/service;
api/core/service, api/autoscaling/scale, api/authentication, api/workload < api/core;
api/core < api/admissionregistration, api/apiregistration, api/apiserverinternal, api/apps, api/authorization,
	api/autoscaling, api/batch, api/coordination, api/discovery, api/flowcontrol, api/networking, api/node, api/policy,
	api/rbac, api/resource, api/storage, api/storagemigration;
api/resource < api/scheduling;

# Kinds that arrive at run time: schemas, the kinds made of them, their definitions.
api/expression, api/custom/untyped < api/custom/structural;
api/custom/structural, api/autoscaling/scale < api/custom;
api/custom/structural, api/admissionregistration < api/apiextensions;

# The list of groups.
api/admissionregistration, api/apiextensions, api/apiregistration, api/apiserverinternal, api/apps, api/authorization,
	api/autoscaling, api/batch, api/coordination, api/discovery, api/flowcontrol, api/networking, api/node, api/policy,
	api/rbac, api/scheduling, api/storage, api/storagemigration < api/builtin;

# Code whose business a certain kind is.
api/core < authz;
api/flowcontrol < apf;
api/apiregistration < aggregation;
api/custom, api/apiextensions, api/apiregistration < controllers;
api/builtin, api/apiregistration < server;

# What is done with objects: the merge algebra, and the revisioned store.
api < ssa, storage;

# etcd as a process of its own.
storage < storage/member < cmd;

# What a mistyped name probably means.
NONE < internal/nearest < storage/member, server;

# What a verb means.
ssa, storage < registry;

# Where services lead, which whoever calls programs behind them has to know.
registry < registry/services;

# How webhooks are called, whatever they are asked.
registry/services < registry/hooks;

# What stands before a verb: who, whether, when, and what is remembered of it;
# and who else serves a part of the API.
registry/hooks < admission, authn, authz, apf, audit, aggregation;

# Connections to kubelets, pods and services.
api, internal/outbound < handlers/proxy;

# What turns bodies into objects and objects into responses. It serves no verb and knows
# no user.
registry, handlers/proxy < handlers/representation;

# What clients meet, and clients of our own.
admission, authn, authz, apf, audit, aggregation < handlers, controllers;

# What describes the API and the server. It has read access to what it describes, and
# forwards nothing itself.
handlers/representation, authn, apf, aggregation, internal/compressed < handlers/description < handlers;

# What puts it all together, and the commands. cmd is flags and nothing else.
handlers, controllers < server < cmd;

# Servers for the tests of other programs.
server < server/servertest;

# Outside looking in: they take any server, by its URL or by starting one.
server < conformance, bench;

# This package.
NONE < internal/layering;

# Feature gates are a leaf: kinds, default roles and plugins follow them.
NONE < internal/features < api;

# Connections to other servers.
NONE < internal/outbound < internal/review, registry/hooks;

# Questions to servers that decide in the place of this one.
internal/outbound < internal/review < admission, authn, authz;

# What those ask whom other servers should not show just any certificate.
NONE < internal/peercert < registry/hooks, aggregation, server;

# Texts that are kept compressed, and put together so.
NONE < internal/compressed < handlers/description;

# What tests of several packages use.
NONE < internal/schematest, internal/filler, internal/extending;

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
k8s.io/api/apidiscovery !< ALL but handlers/description, aggregation, conformance;

# Only storage knows that it is etcd: everybody else sees keys and revisions.
go.etcd.io !< ALL but storage;

# Routes are an affair of handlers: below them a request is a request.Info.
github.com/gorilla !< ALL but handlers;

# The server is no client of itself on the way of a request. It hands out a
# rest.Config to who embeds it; loops and tests are clients.
k8s.io/client-go !< ALL but server, controllers, conformance, bench;

# The paths of printer columns, which have nothing to do with being a client.
k8s.io/client-go/util/jsonpath !< ALL but api;

# Flags are read in one place. etcd's are those of its own configuration.
github.com/spf13/pflag !< ALL but cmd;
flag !< ALL but storage/member, conformance, bench;

# Logs are structured and have a level: log/slog.
log !< ALL but bench;
log/slog !< NONE;
k8s.io/klog !< ALL;

# Replaced by math/rand/v2, which is seeded.
math/rand !< ALL;
math/rand/v2 !< NONE;

# What helps tests stays out of the binary.
testing !< ALL but server/servertest, conformance, bench;
`
