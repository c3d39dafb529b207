package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The proportions of a cluster, as in the scalability tests of Kubernetes.
const (
	podsPerNode       = 30
	namespacesPerNode = 2
	podsPerNamespace  = podsPerNode / namespacesPerNode
	// operatorCount is the number of operators, each with a custom kind.
	operatorCount = 3
	// fullSize is the number of nodes at which the rates have the values of newPlan.
	fullSize = 5000
	// heartbeat is the time between two renewals of a node's Lease.
	heartbeat = 10 * time.Second
	// statusInterval is the time between two reports of a node's unchanged status.
	statusInterval = 5 * time.Minute
)

// plan is the size of a cluster, and the number of requests of each operation per second.
type plan struct {
	nodes int
	// customObjects is the number of objects of each operator.
	customObjects int
	// podLifetime is the time from the creation of a pod that comes and goes to its deletion.
	podLifetime time.Duration
	// shortestWatch is the shortest time after which a watch begins again; the longest is twice as long.
	shortestWatch time.Duration
	rates         [operationCount]float64
}

// usualChurn is the number of pods that come and go per second at the full size.
const usualChurn = 20

// newPlan returns the plan of a cluster of size nodes, whose rates are factor times the usual ones. churn is the
// number of pods that come and go at the full size.
func newPlan(size int, factor, churn float64, podLifetime time.Duration) *plan {
	const clientGo = 5 * time.Minute // its shortest watch
	p := &plan{nodes: size, customObjects: max(1, size/5), podLifetime: podLifetime, shortestWatch: clientGo}
	// of returns a rate from its value at the full size.
	of := func(perSecond float64) float64 { return perSecond * factor * float64(size) / fullSize }
	r := &p.rates
	r[renewLease] = factor * float64(size) / heartbeat.Seconds()
	// A fifth of the reports are about changes.
	r[reportNode] = 1.2 * factor * float64(size) / statusInterval.Seconds()
	r[getNode] = r[reportNode]

	pods := of(churn)
	for _, o := range []operation{createPod, bindPod, getPod, startPod, createEvent, deletePod, removePod} {
		r[o] = pods
	}
	r[updateSlice] = 2 * pods // when a pod becomes ready, and when it is gone
	r[reportCustom] = of(1) * operatorCount

	r[listPods] = of(40)
	r[describePod], r[listEvents] = of(25), of(25)
	r[listPage] = of(8)
	r[listAll] = factor / 30
	r[getObject] = of(200) - r[getNode] - r[getPod] - r[listPods] - r[describePod] - r[listEvents] - r[listPage]
	return p
}

func (p *plan) namespaces() int { return p.nodes * namespacesPerNode }
func (p *plan) pods() int       { return p.nodes * podsPerNode }

// sum returns the number of requests of some classes per second.
func (p *plan) sum(classes ...class) float64 {
	var sum float64
	for o, rate := range p.rates {
		for _, c := range classes {
			if operations[o].class == c {
				sum += rate
			}
		}
	}
	return sum
}

// print prints what the cluster has and does.
func (p *plan) print(w io.Writer) {
	fmt.Fprintf(w, "%d nodes, %d namespaces, %d pods, %d custom objects of %d operators\n",
		p.nodes, p.namespaces(), p.pods(), p.customObjects*operatorCount, operatorCount)
	leases := p.rates[renewLease]
	fmt.Fprintf(w, "a second: %.1f Lease renewals, %.1f other writes (%.1f pods come and go), %.1f reads; "+
		"%d watches of kubelets and %d of others\n\n",
		leases, p.sum(mutating)-leases, p.rates[createPod], p.sum(getting, listingNamespace, listingPage, listingAll),
		p.nodes*watchesPerNode, len(controllerInformers)+len(schedulerInformers)+operatorCount)
}

// An operation is a kind of request.
type operation int

const (
	renewLease operation = iota
	reportNode
	createPod
	bindPod
	startPod
	deletePod
	removePod
	updateSlice
	createEvent
	reportCustom
	getNode
	getPod
	getObject
	describePod
	listPods
	listEvents
	listPage
	listAll
	fill // a request of the fill, of any kind
	openWatch
	other // a request that only the driver needs
	operationCount
)

// A class is a set of operations with a common limit for their latencies.
type class int

const (
	unclassified class = iota
	mutating
	getting
	listingNamespace
	listingPage
	listingAll
)

// operations describes the operations, each with the class of its latencies.
var operations = [operationCount]struct {
	name  string
	class class
}{
	renewLease:   {"renew a node's Lease", mutating},
	reportNode:   {"patch a node's status", mutating},
	createPod:    {"create a pod", mutating},
	bindPod:      {"bind a pod", mutating},
	startPod:     {"patch a pod's status", mutating},
	deletePod:    {"delete a pod gracefully", mutating},
	removePod:    {"delete a pod at once", mutating},
	updateSlice:  {"update an EndpointSlice", mutating},
	createEvent:  {"create an Event", mutating},
	reportCustom: {"patch a custom object's status", mutating},
	getNode:      {"get a node, by kubelets", getting},
	getPod:       {"get a pod, by kubelets", getting},
	getObject:    {"get an object, by controllers", getting},
	describePod:  {"get a pod, by kubectl", getting},
	listPods:     {"list a namespace's pods, by kubectl", listingNamespace},
	listEvents:   {"list a pod's Events, by kubectl", listingNamespace},
	listPage:     {"list 500 of all pods, by kubectl", listingPage},
	listAll:      {"list all pods, protobuf", listingAll},
	fill:         {"fill", unclassified},
	openWatch:    {"begin a watch", unclassified},
	other:        {"other", unclassified},
}

// longestName is the width of a column with the names of operations.
var longestName = func() (longest int) {
	for _, o := range operations {
		longest = max(longest, len(o.name))
	}
	return longest
}()

// loads are the factors of the named loads.
var loads = map[string]float64{"normal": 1, "busy": 3}

// loadFactor returns the factor of a named load.
func loadFactor(name string) (float64, error) {
	factor, ok := loads[name]
	if !ok {
		return 0, fmt.Errorf("unknown load %q, expected normal or busy", name)
	}
	return factor, nil
}

// splitList splits the value of a flag.
func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
