package layering

// policy defines which packages of this module may import which others.
//
//	a, b < c, d;     c and d may import a and b, and the packages below these
//	x !< ALL but c;  only c may import x or a package in x. Of two such lines
//	                 for an import, the one with the longer name applies.
//	                 c stands for itself and all packages in it.
//
// A name stands for a directory and the directories in it that have no name of their own.
// Packages of the same name may import each other; packages of the same layer may not: the
// importing one declares an interface, and server passes the implementation. Names may be
// mentioned before their code exists. The comment before a ban states its reason. Tests may
// import everything.
const policy = `
# Request info is a leaf that every layer reads: the resource, the verb and the user of a request.
NONE < request;

# Sorting of short lists.
NONE < internal/coldsort < openapi, ssa, api, apf, audit, aggregation;

# Go types as their encodings see them, for all code that treats objects by reflection.
NONE < internal/gotype < internal/bounds, internal/quickjson, openapi, ssa, api/gated, api/table, api/validation, api, admission;

# The JSON scanner, which all code that reads JSON byte by byte uses.
NONE < internal/jsonscan < internal/bounds, internal/quickjson, openapi;

# Limits of the cost of a document.
internal/jsonscan < internal/bounds < internal/quickjson, internal/hooks;

# Limits of the cost of CEL functions.
internal/bounds < internal/celbounds < api/expression, api/custom/structural, admission;

# Releases of Kubernetes, which decide what expressions may call.
NONE < internal/kubeversion < api/expression;

# Panics in goroutines, wherever they start.
NONE < internal/recovery < request;

# The clock of stamps and expiries.
internal/recovery < internal/clock < api;

# CBOR decoding and encoding, for stored custom resources and for clients.
NONE < internal/cbor < api;

# JSON decoding and encoding.
internal/bounds < internal/quickjson < api/custom/untyped;

# JSON patches, merge patches and strategic merge patches.
internal/quickjson < internal/patch < admission, handlers/representation;

# Formats, independent of kinds and storage.
request < openapi, proto;

# The fields that feature gates guard; their table is generated from the sources of the API.
internal/gotype < api/gated < api, server;
NONE < internal/source < api/gated/internal/generate, api/since, kinds;

# The vocabularies in which kinds are described: CEL expressions, rules, printer
# columns, objects without a Go type.
NONE < api/expression < api/validation;
internal/gotype < api/table;
openapi, proto < api/custom/untyped;
api/validation, api/table, api/custom/untyped < api;

# The kinds, a package for each group. The core group is several: other groups use the
# rules of pods and claims, and core uses a few kinds of other groups.
api < kinds/core/kubelet, kinds/core/claim, kinds/certificates, api/scale, kinds/authentication, kinds/workload;
kinds/core/kubelet, kinds/core/claim, kinds/certificates < kinds/core/pod < kinds/core/service;
kinds/core/service, api/scale, kinds/authentication, kinds/workload < kinds/core;
kinds/core < kinds/admissionregistration, kinds/apiregistration, kinds/apiserverinternal, kinds/apps, kinds/authorization,
	kinds/autoscaling, kinds/batch, kinds/coordination, kinds/discovery, kinds/flowcontrol, kinds/lifecycle, kinds/networking, kinds/node, kinds/policy,
	kinds/rbac, kinds/resource, kinds/scheduling, kinds/storage, kinds/storagemigration;

# Kinds that arrive at run time: schemas, the kinds made of them, their definitions.
api/expression, api/custom/untyped < api/custom/structural;
api/custom/structural, api/scale < api/custom;
api/custom/structural, kinds/admissionregistration < kinds/apiextensions;

# The list of groups.
kinds/admissionregistration, kinds/apiextensions, kinds/apiregistration, kinds/apiserverinternal, kinds/apps, kinds/authorization,
	kinds/autoscaling, kinds/batch, kinds/coordination, kinds/discovery, kinds/flowcontrol, kinds/lifecycle, kinds/networking, kinds/node, kinds/policy,
	kinds/rbac, kinds/resource, kinds/scheduling, kinds/storage, kinds/storagemigration < kinds;

# Code that implements certain kinds.
kinds/core < authz;
kinds/core/pod < admission;
kinds/flowcontrol < apf;
kinds/apiregistration < aggregation;
api/custom, kinds/apiextensions, kinds/apiregistration < controllers;
kinds, kinds/apiregistration < server;

# Field management, and the revisioned store.
api < ssa, storage;

# Encryption of stored values. It and storage do not know each other: storage declares the
# interface that it needs, and server connects the two.
request < storage/encryption < server;

# etcd as a process of its own.
storage < storage/member < cmd;

# The nearest valid name of a mistyped one.
NONE < internal/nearest < storage/member, server;

# What a release of Kubernetes did not have of the API.
api < api/since < server;

# The verbs.
ssa, storage < registry;

# The addresses and ports that services get.
registry, kinds/core/service < registry/allocation < controllers, server;

# Addresses of services, for code that calls programs behind them.
internal/outbound, registry < registry/services;

# The layers before a verb: admission, authentication, authorization, flow control and
# audit; and the API servers that serve a part of the API.
registry/services < admission, authn, authz, apf, audit, aggregation;

# Admission plugins of several files, each a package. They use what all plugins share, and
# not each other, so that one can be read without the others.
admission < admission/noderestriction, admission/podsecurity, admission/imagepolicy, admission/quota;

# The list of plugins, with the plugins of a single file. It is above the packages that it lists.
admission/noderestriction, admission/podsecurity, admission/imagepolicy, admission/quota < admission/plugins
	< controllers, server;

# What the tests of kinds share.
kinds < internal/kindtest;

# Registries for tests.
registry, kinds < internal/registrytest;

# What the tests of plugins share.
admission, internal/registrytest < admission/admissiontest;

# Connections to kubelets, pods and services.
api, internal/outbound < handlers/proxy;

# What turns bodies into objects and objects into responses. It serves no verb and knows
# no user.
registry, handlers/proxy < handlers/representation;

# The HTTP handlers, and the control loops, which are clients of the handlers.
admission, authn, authz, apf, audit, aggregation < handlers, controllers;

# The descriptions of the API and the server: discovery, OpenAPI, version, health, metrics.
handlers/representation, authn, apf, aggregation, internal/compressed < handlers/description < handlers;

# The machinery that all control loops share.
registry, authn < controllers/reconcile < controllers;
controllers/reconcile, internal/hooks, api/custom, kinds/apiextensions < controllers/customkinds < controllers;
controllers/customkinds, aggregation, kinds/apiregistration < controllers/apiservices < controllers;
controllers/reconcile, registry < controllers/elections < server;

# Certificates and keys, what an HTTP server does below the handlers, and the objects that
# every cluster has. All are independent of the options, so that they are understood
# without the assembly.
authn < server/credentials < server;
request < server/transport < server;
NONE < server/tracing < server;
server/credentials, controllers, kinds/scheduling, kinds/apiregistration < server/bootstrap < server;

# The assembly of a server, and the commands, which only parse flags.
handlers, controllers < server < cmd;

# Recorded requests and answers, how they are sent again, and how answers are compared. It knows no server.
internal/jsonscan, internal/outbound < lab/conversation < lab, lab/kubectl, conformance;

# The lab explains what the layers did. They do not import it: they tell the account of a request, which the lab gets at its end.
NONE < lab/v1alpha1/internal/generate;
NONE < lab/v1alpha1;
registry, api/custom/untyped, lab/v1alpha1 < lab < server;

# The lab of another process, whose checkpoints a server starts from.
lab/v1alpha1 < lab/remote < server;

# The page of the lab reads the API as any client does, through what server gives it.
internal/recovery < lab/page < server;

# The server as the programs that tests start, and releases with them.
NONE < internal/envtest < cmd;
server, internal/envtest < internal/dist;

# kubectl lab, which is a client of the lab's API and of nothing else here.
lab/v1alpha1, internal/nearest, internal/recovery < lab/kubectl < cmd;
lab/page < lab/kubectl;

# What a program changed on a fork, for kubectl lab and for programs that embed a server. It is a client as well.
lab/v1alpha1, internal/nearest < lab/kubectl/client < lab/try < lab/kubectl, server;

# Servers for the tests of other programs.
server < server/servertest;

# Tests and benchmarks from outside, of a running server or of one that they start.
server < conformance, bench;

# This package.
NONE < internal/layering;

# Feature gates are a leaf: kinds and their rules, default roles and plugins follow them.
NONE < internal/kubeversion < internal/features < api, api/validation;

# Readings of a clock that nobody sets.
NONE < internal/monotonic < storage, authz;

# Files that flags name, read with bounds.
NONE < internal/configfile < storage, storage/encryption, authn, authz, audit, admission, internal/hooks, server, server/credentials, server/tracing;

# Values from files that are read again when they change.
internal/monotonic, internal/configfile < internal/reload < authn, authz, internal/hooks, server, server/credentials;

# Files with secrets.
NONE < internal/safefile < storage, audit, authn, server/credentials, server, internal/envtest;

# Definitions of metrics.
NONE < internal/metricset < internal/configmetrics, internal/outbound, internal/peercert, internal/metrics, storage,
	storage/encryption, controllers/reconcile;

# Metrics of configuration files that are read again when they change.
internal/metricset < internal/configmetrics < authn, authz, storage/encryption, admission, server;

# Connections to other servers.
internal/metricset < internal/outbound < internal/hooks, aggregation;

# Clients of webhooks, independent of the requests.
internal/outbound < internal/hooks < admission, authn, authz, audit;

# Counters of outdated certificates of other servers.
internal/metricset < internal/peercert < internal/hooks, aggregation, server;

# The registry of metrics, with its rules; other packages use the interfaces of prometheus.
internal/recovery, internal/metricset < internal/metrics < server;

# Compressed texts that can be concatenated.
NONE < internal/compressed < handlers/description;

# Helpers of tests in several packages.
NONE < internal/schematest, internal/filler, internal/seriestest, internal/ci, internal/eventually, internal/extending, internal/kmstest, internal/otlptest, internal/pagetest, internal/porttest, internal/signertest;

# The server machinery is the purpose of this project: it is written here, not imported.
k8s.io/kubernetes !< ALL;
k8s.io/apiserver !< ALL;
k8s.io/apiextensions-apiserver !< ALL;
k8s.io/kube-aggregator !< ALL;
k8s.io/component-base !< ALL;

# The CEL function libraries are independent of the machinery.
k8s.io/apiserver/pkg/cel !< ALL but api, kinds, admission, authn, authz, internal/celbounds;

# The interface by which CEL's authorizer library checks permissions.
k8s.io/apiserver/pkg/authorization/authorizer !< ALL but admission;

# The types of custom kinds and aggregation are published nowhere else. Only the catalogue
# and the code that implements a certain kind import them.
k8s.io/apiextensions-apiserver/pkg/apis !< ALL but api, kinds, controllers;
k8s.io/kube-aggregator/pkg/apis !< ALL but kinds, aggregation, controllers, server;

# Generic code names no kind: everything particular to a kind is in its file in kinds.
# Controllers and the code that evaluates objects of a certain kind (roles, policies, flow
# schemas ...) depend on the kind, and server creates the initial objects.
k8s.io/api !< ALL but api, kinds, internal/kindtest, registry/allocation, registry/services, internal/hooks, aggregation, server, controllers, admission, authn, authz, apf, lab/kubectl, conformance, bench;

# Aggregated discovery is a response format, not a stored kind.
k8s.io/api/apidiscovery !< ALL but handlers/description, aggregation, lab/kubectl, conformance;

# Only storage uses etcd. Other packages see keys and revisions.
go.etcd.io !< ALL but storage;

# Only handlers routes requests. Below it, a request is a request.Info.
github.com/gorilla !< ALL but handlers;

# The server does not call itself while it handles a request. It returns a rest.Config to
# embedding programs; controllers and tests are clients.
k8s.io/client-go !< ALL but server, controllers, lab/remote, lab/kubectl, lab/try, conformance, bench;

# The paths of printer columns and of messages, which are independent of clients.
k8s.io/client-go/util/jsonpath !< ALL but api/table, api/custom, kinds/admissionregistration;

# Configuration files are decoded by internal/configfile, which is strict and has kube-apiserver's words. The others
# decode bodies and stored values, and credentials writes kubeconfig files. kubectl lab shows objects.
sigs.k8s.io/yaml !< ALL but internal/configfile, api, lab/kubectl, registry/allocation, handlers/representation, server/credentials, conformance, bench, internal/kindtest;

# The number of nodes in a document is counted before anything decodes it.
go.yaml.in/yaml !< ALL but internal/bounds;

# Flags are read in one place. etcd's are those of its own configuration, and kubectl lab's those of a kubectl plugin.
github.com/spf13/pflag !< ALL but cmd, lab/kubectl;
flag !< ALL but storage/member, conformance, bench;

# Logs are structured and have a level: log/slog.
log !< ALL but bench;
log/slog !< NONE;
k8s.io/klog !< ALL;

# Replaced by math/rand/v2, which is seeded.
math/rand !< ALL;
math/rand/v2 !< NONE;

# Test helpers stay out of the binary.
testing !< ALL but internal/eventually, internal/kindtest, internal/otlptest, internal/pagetest, internal/porttest, internal/registrytest, internal/signertest, server/servertest, admission/admissiontest, conformance, bench;
`
