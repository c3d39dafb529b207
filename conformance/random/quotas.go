package random

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// quotas tells of quotas and limits of a namespace, and of the pods, services and claims that they count.
func quotas(s *story) {
	q := &quotaTeller{story: s, made: map[string]int{}}
	for _, name := range []string{"low", "high"} {
		s.cleanup(priorityClasses + "/" + name + "-${id}")
	}
	if s.chance(60) {
		s.send(http.MethodPost, priorityClasses, object{"metadata": object{"name": "high-${id}"}, "value": 1000, "preemptionPolicy": pick[any](s, nil, "Never")}).Only = []string{"kind"}
	}
	if s.chance(50) {
		q.limits()
	}
	q.quota()
	for s.goesOn() {
		s.happen(
			action{2, q.quota}, action{1, q.limits}, action{10, q.pod}, action{3, q.service}, action{3, q.claim}, action{3, q.counted}, action{2, q.remove}, action{2, q.get}, action{2, q.change}, action{1, q.class},
		)
	}
}

const priorityClasses = "/apis/scheduling.k8s.io/v1/priorityclasses"

// quotaTeller writes what quotas count.
type quotaTeller struct {
	*story
	// made is the number of objects that the story has tried to create, by resource.
	made map[string]int
}

// next returns a name for a new object: kube-apiserver does not take back what it has counted for an
// object whose name is taken.
func (q *quotaTeller) next(resource string) string {
	q.made[resource]++
	return fmt.Sprint("o", q.made[resource])
}

// known returns the name of an object that the story has tried to create.
func (q *quotaTeller) known(resource string) string {
	return fmt.Sprint("o", 1+q.IntN(max(q.made[resource], 1)))
}

// hard returns limits of a quota.
func (q *quotaTeller) hard() object {
	s := q.story
	o := object{}
	words := map[string][]string{
		"pods": {"1", "2", "3"}, "count/pods": {"2", "3"}, "requests.cpu": {"1", "2", "500m"}, "limits.cpu": {"2", "3"}, "requests.memory": {"1Gi", "2Gi"}, "limits.memory": {"2Gi"}, "cpu": {"1", "2"}, "memory": {"1Gi"},
		"services": {"1", "2"}, "services.nodeports": {"1", "2"}, "services.loadbalancers": {"0", "1"}, "persistentvolumeclaims": {"1", "2"}, "requests.storage": {"2Gi", "5Gi"}, "gold.storageclass.storage.k8s.io/requests.storage": {"1Gi", "3Gi"},
		"gold.storageclass.storage.k8s.io/persistentvolumeclaims": {"1"}, "configmaps": {"2", "3"}, "secrets": {"1", "2"}, "count/deployments.apps": {"1"}, "count/configmaps": {"2", "3"}, "requests.ephemeral-storage": {"1Gi"}, "requests.example.com/x": {"1", "2"},
		"replicationcontrollers": {"1"}, "count/jobs.batch": {"1"}, "limits.ephemeral-storage": {"1Gi"}, "count/leases.coordination.k8s.io": {"1"},
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if s.chance(16) {
			o[name] = pick(s, words[name]...)
		}
	}
	if len(o) == 0 {
		o["pods"] = "2"
	}
	if s.chance(6) {
		o[pick(s, "x", "example.com/x", "pods", "limits.example.com/x", "requests.x", "count/x", "", "hugepages-2Mi")] = pick(s, "1", "-1", "1.5", "x")
	}
	return o
}

// scopes adds scopes to a quota.
func (q *quotaTeller) scopes(spec object) {
	s := q.story
	if s.chance(25) {
		spec["scopes"] = s.several("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass", "x")
	}
	if s.chance(25) {
		e := object{"scopeName": pick(s, "PriorityClass", "PriorityClass", "BestEffort", "Terminating", "VolumeAttributesClass", "CrossNamespacePodAffinity", "x"), "operator": pick(s, "In", "In", "NotIn", "Exists", "DoesNotExist", "x")}
		if s.chance(60) {
			e["values"] = s.several("high-${id}", "low-${id}", "gold")
		}
		spec["scopeSelector"] = object{"matchExpressions": []any{e}}
	}
}

// quota creates or changes a quota, and waits until it is counted.
func (q *quotaTeller) quota() {
	s := q.story
	spec := object{"hard": q.hard()}
	q.scopes(spec)
	path, name := namespaced("v1", "resourcequotas"), pick(s, "q", "q", "r")
	o := object{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": object{"name": name}, "spec": spec}
	switch s.IntN(4) {
	case 0:
		s.patch(applyPatch, query(path+"/"+name, "fieldManager", "m1", "force", "true"), o)
	case 1:
		s.patch(mergePatch, path+"/"+name, object{"spec": object{"hard": spec["hard"]}})
	default:
		s.send(http.MethodPost, query(path, "dryRun", s.sometimes(5, "All")), o)
	}
	s.last().Ignore = []string{"status", "metadata.managedFields"}
	q.awaitCount(name)
}

// awaitCount waits until a controller has counted what a quota limits.
func (q *quotaTeller) awaitCount(name string) {
	q.pause(1)
	q.send(http.MethodGet, namespaced("v1", "resourcequotas")+"/"+name, nil).Ignore = []string{"metadata.managedFields"}
}

// limits creates or changes a limit range.
func (q *quotaTeller) limits() {
	s := q.story
	quantity := func() string { return pick(s, "100m", "500m", "1", "2", "1", "2") }
	size := func() string { return pick(s, "100Mi", "1Gi", "2Gi", "1Gi") }
	item := object{"type": pick(s, "Container", "Container", "Container", "Pod", "PersistentVolumeClaim", "x", "")}
	fields := []string{"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}
	for _, f := range fields {
		if s.chance(35) {
			o := object{}
			if item["type"] == "PersistentVolumeClaim" {
				o["storage"] = size()
			} else {
				if s.chance(70) {
					o["cpu"] = quantity()
				}
				if s.chance(40) {
					o["memory"] = size()
				}
			}
			item[f] = o
		}
	}
	items := []any{item}
	if s.chance(30) {
		items = append(items, object{"type": "Pod", "max": object{"cpu": quantity()}})
	}
	path := namespaced("v1", "limitranges")
	o := object{"apiVersion": "v1", "kind": "LimitRange", "metadata": object{"name": "l"}, "spec": object{"limits": items}}
	if s.chance(50) {
		s.send(http.MethodPost, path, o)
	} else {
		s.send(http.MethodPut, path+"/l", o)
	}
	s.pause(0.5)
}

// demands returns the resources of a container.
func (q *quotaTeller) demands() object {
	s := q.story
	o := object{}
	for _, part := range some(s, "limits", "requests") {
		list := object{}
		for _, name := range some(s, "cpu", "memory") {
			if name == "cpu" {
				list[name] = pick(s, "100m", "500m", "1", "2", "3")
			} else {
				list[name] = pick(s, "100Mi", "1Gi", "3Gi")
			}
		}
		if s.chance(15) {
			list[pick(s, "example.com/x", "ephemeral-storage")] = pick(s, "1", "2", "2Gi")
		}
		o[part] = list
	}
	return o
}

func (q *quotaTeller) pod() {
	s := q.story
	spec := object{"containers": []any{object{"name": "a", "image": "a", "resources": q.demands()}}}
	if s.chance(30) {
		spec["containers"] = append(spec["containers"].([]any), object{"name": "b", "image": "b", "resources": q.demands()})
	}
	if s.chance(30) {
		spec["initContainers"] = []any{object{"name": "i", "image": "i", "resources": q.demands(), "restartPolicy": pick[any](s, nil, "Always")}}
	}
	if s.chance(20) {
		spec["activeDeadlineSeconds"] = 100
	}
	if s.chance(25) {
		spec["priorityClassName"] = pick(s, "high-${id}", "high-${id}", "low-${id}", "none", "system-cluster-critical")
	}
	if s.chance(5) {
		spec[pick(s, "priority", "preemptionPolicy", "overhead", "resources")] = pick[any](s, 1000, 5, "Never", object{"cpu": "1"}, object{"limits": object{"cpu": "1"}})
	}
	if s.chance(10) {
		spec["affinity"] = object{"podAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": []any{object{"topologyKey": "a", "namespaces": pick[any](s, []any{"x"}, nil, []any{"${ns}"}), "namespaceSelector": pick[any](s, nil, object{})}}}}
	}
	path := namespaced("v1", "pods")
	if s.chance(15) {
		s.patch(strategicPatch, path+"/"+q.known("pods")+"/resize", object{"spec": object{"containers": []any{object{"name": "a", "resources": q.demands()}}}})
		return
	}
	name := q.next("pods")
	o := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name}, "spec": spec}
	if s.chance(15) {
		s.patch(applyPatch, query(path+"/"+name, "fieldManager", "m1", "force", s.sometimes(50, "true")), o)
		return
	}
	s.send(http.MethodPost, query(path, "dryRun", s.sometimes(12, "All")), o)
}

func (q *quotaTeller) service() {
	s := q.story
	spec := object{"type": pick(s, "ClusterIP", "NodePort", "LoadBalancer"), "ports": []any{object{"port": 80, "name": "a"}, object{"port": 81, "name": "b"}}}
	if s.chance(20) {
		spec["allocateLoadBalancerNodePorts"] = false
	}
	path := namespaced("v1", "services")
	if s.chance(40) {
		s.patch(mergePatch, path+"/"+q.known("services"), object{"spec": spec})
		return
	}
	s.send(http.MethodPost, query(path, "dryRun", s.sometimes(12, "All")), object{"metadata": object{"name": q.next("services")}, "spec": spec})
}

func (q *quotaTeller) claim() {
	s := q.story
	spec := object{"accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": pick(s, "100Mi", "1Gi", "2Gi", "4Gi")}}, "storageClassName": pick[any](s, "gold", "gold", "silver", nil, "")}
	if s.chance(15) {
		spec["volumeAttributesClassName"] = "gold"
	}
	path := namespaced("v1", "persistentvolumeclaims")
	if s.chance(25) {
		s.patch(mergePatch, path+"/"+q.known("persistentvolumeclaims"), object{"spec": object{"resources": spec["resources"]}})
		return
	}
	s.send(http.MethodPost, query(path, "dryRun", s.sometimes(12, "All")), object{"metadata": object{"name": q.next("persistentvolumeclaims")}, "spec": spec})
}

// counted creates objects of which a quota counts the number.
func (q *quotaTeller) counted() {
	s := q.story
	o := object{"metadata": object{"name": q.next("others")}}
	switch s.IntN(5) {
	case 0, 1:
		s.send(http.MethodPost, query(namespaced("v1", "configmaps"), "dryRun", s.sometimes(12, "All")), o)
	case 2:
		s.send(http.MethodPost, namespaced("v1", "secrets"), o)
	case 3:
		s.send(http.MethodPost, namespaced("coordination.k8s.io/v1", "leases"), o)
	default:
		o["spec"] = object{"selector": object{"matchLabels": object{"a": "b"}}, "template": object{"metadata": object{"labels": object{"a": "b"}}, "spec": object{"containers": []any{object{"name": "a", "image": "a"}}}}}
		s.send(http.MethodPost, namespaced("apps/v1", "deployments"), o)
	}
}

// remove deletes something that a quota counts, and waits until it is counted again.
func (q *quotaTeller) remove() {
	s := q.story
	path := pick(s, namespaced("v1", "resourcequotas")+"/r", namespaced("v1", "limitranges")+"/l", namespaced("v1", pick(s, "configmaps", "secrets"))+"/"+q.known("others"))
	if resource := pick(s, "pods", "pods", "services", "persistentvolumeclaims"); s.chance(70) {
		path = namespaced("v1", resource) + "/" + q.known(resource)
	}
	s.send(http.MethodDelete, query(path, "gracePeriodSeconds", s.sometimes(50, "0")), nil).Ignore = []string{"status", "metadata.managedFields"}
	s.pause(2.5)
}

func (q *quotaTeller) get() {
	step := q.send(http.MethodGet, pick(q.story, namespaced("v1", "resourcequotas"), namespaced("v1", "resourcequotas")+"/q", namespaced("v1", "limitranges"), namespaced("v1", "pods")), nil)
	step.Ignore = []string{"metadata.managedFields", "items.*.metadata.managedFields"}
	if q.chance(40) {
		header(step, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		step.Ignore = append(step.Ignore, "rows.*.object.metadata.managedFields")
	}
}

// change ends a pod, so that it is not counted any more, or changes it.
func (q *quotaTeller) change() {
	s := q.story
	pod := namespaced("v1", "pods") + "/" + q.known("pods")
	if s.chance(50) {
		s.patch(mergePatch, pod+"/status", object{"status": object{"phase": pick(s, "Succeeded", "Failed", "Running")}})
		s.pause(2.5)
		return
	}
	s.patch(mergePatch, pod, object{"spec": object{"activeDeadlineSeconds": 50}})
	s.pause(2.5)
}

// class writes a priority class.
func (q *quotaTeller) class() {
	s := q.story
	name := pick(s, "low", "high") + "-${id}"
	o := object{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": object{"name": name}, "value": pick[any](s, 1000, 5, -1, 1000000001, 2000000000, nil, "x")}
	if s.chance(40) {
		o["preemptionPolicy"] = pick(s, "Never", "PreemptLowerPriority", "x", "")
	}
	switch s.IntN(4) {
	case 0:
		s.send(http.MethodPut, priorityClasses+"/"+name, o)
	case 1:
		s.patch(mergePatch, priorityClasses+"/"+name, object{"value": o["value"], "description": pick(s, "a", "b")})
	case 2:
		s.send(http.MethodDelete, query(priorityClasses+"/"+name, "dryRun", s.sometimes(50, "All")), nil)
	default:
		s.send(http.MethodPost, priorityClasses, o)
	}
	s.pause(0.5)
}
