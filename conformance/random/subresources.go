package random

import (
	"net/http"
	"strings"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

// subresources tells of pods, nodes, workloads, namespaces and certificate requests, which are changed
// by their subresources.
func subresources(s *story) {
	p := &podTeller{story: s, node: "n-${id}"}
	switch s.IntN(5) {
	case 0:
		s.scales()
		return
	case 1:
		s.certificates()
		return
	}
	s.cleanup("/api/v1/nodes/n-${id}")
	if s.chance(60) {
		s.send(http.MethodPost, "/api/v1/nodes", object{"metadata": object{"name": p.node}, "status": object{"capacity": object{"cpu": "4"}}}).Only = []string{"kind"}
	}
	p.create()
	for s.goesOn() {
		p.name = pick(s, "o", "o", "p")
		s.happen(
			action{4, p.create}, action{6, p.status}, action{4, p.evict}, action{3, p.bind}, action{4, p.ephemeral}, action{5, p.resize}, action{2, p.connect}, action{3, p.budget}, action{3, p.get}, action{2, p.remove}, action{1, p.update},
			action{1, p.nodeStatus}, action{1, p.service}, action{1, p.namespace}, action{1, p.finalize},
		)
	}
}

// podTeller changes pods.
type podTeller struct {
	*story
	node, name string
}

func (p *podTeller) self() string { return namespaced("v1", "pods") + "/" + p.name }

// options returns a path with the parameters of a write.
func (s *story) options(path string) string {
	return query(path, "fieldManager", s.sometimes(40, "m1", "m2"), "dryRun", s.sometimes(10, "All", "All", "x"), "fieldValidation", s.sometimes(25, "Strict", "Ignore", "Warn"))
}

// resources returns requirements of a container.
func (s *story) resources() any {
	list := func() object {
		o := object{}
		for _, name := range some(s, "cpu", "memory", "ephemeral-storage", "example.com/x") {
			o[name] = pick(s, "1", "2", "100m", "1Gi", "0", "1k")
		}
		return o
	}
	o := object{}
	if s.chance(70) {
		o["limits"] = object{"cpu": pick(s, "1", "2", "500m"), "memory": pick(s, "1Gi", "2Gi")}
	}
	if s.chance(60) {
		o["requests"] = object{"cpu": pick(s, "100m", "1", "500m")}
	}
	if s.chance(15) {
		o[pick(s, "limits", "requests")] = list()
	}
	return o
}

func (p *podTeller) pod() object {
	s := p.story
	container := object{"name": "a", "image": "a:1", "resources": s.resources()}
	if s.chance(40) {
		container["resizePolicy"] = []any{object{"resourceName": pick(s, "cpu", "memory", "x"), "restartPolicy": pick(s, "NotRequired", "RestartContainer", "RestartContainer", "x")}}
	}
	containers := []any{container}
	if s.chance(40) {
		containers = append(containers, object{"name": "b", "image": "b", "resources": s.resources()})
	}
	spec := object{"containers": containers}
	if s.chance(30) {
		spec["initContainers"] = []any{object{"name": "i", "image": "i", "restartPolicy": pick[any](s, "Always", nil), "resources": s.resources()}}
	}
	if s.chance(25) {
		spec["nodeName"] = p.node
	}
	if s.chance(15) {
		spec["schedulingGates"] = []any{object{"name": "g"}}
	}
	if s.chance(15) {
		spec["resources"] = s.resources()
	}
	if s.chance(15) {
		spec["terminationGracePeriodSeconds"] = pick[any](s, 0, 1, 5, -1)
	}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": p.name, "labels": object{"app": pick(s, "a", "a", "b")}}, "spec": spec}
}

func (p *podTeller) create() {
	if p.name == "" {
		p.name = "o"
	}
	step := p.send(http.MethodPost, p.options(namespaced("v1", "pods")), p.pod())
	save(step, "uid", "metadata.uid")
}

func (p *podTeller) get() {
	step := p.send(http.MethodGet, p.self()+pick(p.story, "", "", "", "/status", "/ephemeralcontainers", "/resize"), nil)
	save(step, "rv", "metadata.resourceVersion")
	if p.chance(40) {
		header(step, "Accept", p.accept())
	}
}

func (p *podTeller) update() {
	o := p.pod()
	p.story.patch(pick(p.story, mergePatch, strategicPatch), p.options(p.self()), object{"spec": pick(p.story, object{"activeDeadlineSeconds": pick(p.story, 1, 0, 5)}, object{"tolerations": []any{object{"key": "a", "operator": "Exists"}}}, object{"containers": o["spec"].(object)["containers"]}, object{"schedulingGates": []any{}}, object{"nodeName": p.node})})
}

// podStatus returns a status of a pod.
func (p *podTeller) podStatus() object {
	s := p.story
	o := object{}
	if s.chance(60) {
		o["phase"] = pick(s, "Running", "Running", "Pending", "Succeeded", "Failed", "x")
	}
	if s.chance(40) {
		o["conditions"] = []any{object{"type": pick(s, "Ready", "PodScheduled", "DisruptionTarget", "x", ""), "status": pick(s, "True", "False", "x"), "observedGeneration": pick(s, 1, 0)}}
	}
	if s.chance(30) {
		o["podIP"], o["podIPs"] = "10.1.2.3", pick[any](s, []any{object{"ip": "10.1.2.3"}}, []any{}, []any{object{"ip": "x"}}, []any{object{"ip": "10.1.2.3"}, object{"ip": "10.1.2.4"}})
	}
	if s.chance(25) {
		o["hostIP"] = pick(s, "10.0.0.1", "x")
	}
	if s.chance(40) {
		status := object{"name": pick(s, "a", "b", "c"), "image": "a", "imageID": "a", "ready": s.chance(50), "restartCount": s.IntN(3), "started": s.chance(50)}
		if s.chance(60) {
			status["state"] = pick(s, object{"running": object{"startedAt": "2026-01-02T03:04:05Z"}}, object{"waiting": object{"reason": "R"}}, object{"terminated": object{"exitCode": 1}}, object{})
		}
		if s.chance(40) {
			status["resources"], status["allocatedResources"] = s.resources(), object{"cpu": "1"}
		}
		o[pick(s, "containerStatuses", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")] = []any{status}
	}
	if s.chance(15) {
		o[pick(s, "reason", "message", "nominatedNodeName", "qosClass", "resize", "startTime", "observedGeneration")] = pick[any](s, "x", "Burstable", "Guaranteed", "2026-01-02T03:04:05Z", 1, "")
	}
	return o
}

func (p *podTeller) status() {
	path := p.options(p.self() + "/status")
	status := p.podStatus()
	switch p.IntN(4) {
	case 0:
		o := p.pod()
		o["status"] = status
		p.send(http.MethodPut, path, o)
	case 1:
		p.story.patch(applyPatch, query(p.self()+"/status", "fieldManager", pick(p.story, "m1", "m2"), "force", p.sometimes(50, "true")), object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": p.name}, "status": status})
	default:
		p.story.patch(pick(p.story, mergePatch, strategicPatch), path, object{"status": status, "metadata": pick(p.story, object{}, object{}, object{"labels": object{"app": "b"}})})
	}
}

// evict evicts a pod.
func (p *podTeller) evict() {
	s := p.story
	o := object{"apiVersion": pick(s, "policy/v1", "policy/v1", "policy/v1", "policy/v1beta1", "v1"), "kind": pick(s, "Eviction", "Eviction", "Eviction", "Pod"), "metadata": object{"name": pick(s, p.name, p.name, p.name, "other", "")}}
	if s.chance(50) {
		o["deleteOptions"] = pick[any](s, object{"gracePeriodSeconds": 0}, object{"dryRun": []any{"All"}}, object{"preconditions": object{"uid": "${uid}"}}, object{"preconditions": object{"resourceVersion": "1"}}, object{"propagationPolicy": "Foreground"}, object{"gracePeriodSeconds": -1}, object{"dryRun": []any{"x"}}, object{"preconditions": object{"uid": "none"}}, object{"propagationPolicy": "x"}, nil)
	}
	if s.chance(6) {
		o = object{}
	}
	s.send(http.MethodPost, query(p.self()+"/eviction", "dryRun", s.sometimes(20, "All", "x"), "fieldManager", s.sometimes(5, "m1"), "fieldValidation", s.sometimes(10, "Strict")), o)
}

// budget writes a disruption budget or its status.
func (p *podTeller) budget() {
	s := p.story
	path := namespaced("policy/v1", "poddisruptionbudgets")
	name := pick(s, "x", "y")
	if s.chance(35) {
		spec := object{"selector": pick[any](s, object{"matchLabels": object{"app": "a"}}, object{"matchLabels": object{"app": "b"}}, object{}, nil), pick(s, "minAvailable", "maxUnavailable"): pick[any](s, 1, 0, "50%", "x", -1)}
		if s.chance(30) {
			spec["unhealthyPodEvictionPolicy"] = pick(s, "AlwaysAllow", "IfHealthyBudget", "x")
		}
		s.send(http.MethodPost, s.options(path), object{"metadata": object{"name": name}, "spec": spec})
		return
	}
	if s.chance(15) {
		s.send(pick(s, http.MethodDelete, http.MethodGet), path+"/"+name, nil)
		return
	}
	status := object{"disruptionsAllowed": pick(s, 0, 1, 2, -1), "currentHealthy": pick(s, 1, 2), "desiredHealthy": pick(s, 0, 1, 3), "expectedPods": 2, "observedGeneration": pick(s, 1, 1, 1, 0, 5)}
	if s.chance(20) {
		status["disruptedPods"] = pick[any](s, object{"o": "2026-01-02T03:04:05Z"}, object{}, nil)
	}
	if s.chance(20) {
		status["conditions"] = []any{object{"type": "DisruptionAllowed", "status": "True", "reason": pick(s, "R", ""), "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z"}}
	}
	s.patch(mergePatch, s.options(path+"/"+name+"/status"), object{"status": status})
}

// bind binds a pod to a node.
func (p *podTeller) bind() {
	s := p.story
	o := object{"apiVersion": "v1", "kind": "Binding", "metadata": object{"name": pick(s, p.name, p.name, "p", "")}, "target": object{"kind": pick(s, "Node", "Node", "Node", "", "Pod"), "name": pick(s, p.node, p.node, p.node, "", "other", "A b")}}
	if s.chance(20) {
		o["metadata"].(object)[pick(s, "uid", "annotations", "labels", "resourceVersion")] = pick[any](s, "${uid}", "none", object{"a": "b"}, "1")
	}
	if s.chance(10) {
		o["target"].(object)[pick(s, "uid", "namespace", "apiVersion")] = "x"
	}
	path := p.self() + "/binding"
	if s.chance(25) {
		path = namespaced("v1", "bindings")
	}
	s.send(pick(s, http.MethodPost, http.MethodPost, http.MethodPost, http.MethodGet), query(path, "dryRun", s.sometimes(10, "All")), o)
}

// ephemeral adds or changes ephemeral containers.
func (p *podTeller) ephemeral() {
	s := p.story
	list := []any{}
	for range 1 + s.IntN(2) {
		c := object{"name": pick(s, "e", "f", "g", "a"), "image": pick(s, "e", "f"), "targetContainerName": pick[any](s, "a", nil, "none", "")}
		if s.chance(15) {
			c[pick(s, "ports", "resources", "livenessProbe", "lifecycle", "volumeMounts", "restartPolicy", "tty", "stdin")] = pick[any](s, []any{object{"containerPort": 1}}, object{"limits": object{"cpu": "1"}}, object{"tcpSocket": object{"port": 1}}, "Always", true, []any{object{"name": "v", "mountPath": "/v"}})
		}
		list = append(list, c)
	}
	path := s.options(p.self() + "/ephemeralcontainers")
	switch s.IntN(4) {
	case 0:
		o := p.pod()
		o["spec"].(object)["ephemeralContainers"] = list
		s.send(http.MethodPut, path, o)
	case 1:
		s.patch(jsonPatch, path, []any{object{"op": pick(s, "add", "remove", "replace"), "path": pick(s, "/spec/ephemeralContainers", "/spec/ephemeralContainers/0", "/spec/ephemeralContainers/-", "/metadata/labels/app"), "value": pick[any](s, list, list[0], "x")}})
	default:
		s.patch(pick(s, strategicPatch, mergePatch), path, object{"spec": object{"ephemeralContainers": list}})
	}
}

// resize changes the resources of containers.
func (p *podTeller) resize() {
	s := p.story
	path := s.options(p.self() + "/resize")
	container := object{"name": pick(s, "a", "a", "b", "i"), "resources": s.resources()}
	if s.chance(8) {
		container[pick(s, "image", "name", "resizePolicy", "env")] = pick[any](s, "x", []any{}, []any{object{"resourceName": "cpu", "restartPolicy": "NotRequired"}})
	}
	list := pick(s, "containers", "containers", "containers", "initContainers", "ephemeralContainers")
	switch s.IntN(5) {
	case 0:
		o := p.pod()
		s.send(http.MethodPut, path, o)
	case 1:
		s.patch(applyPatch, query(p.self()+"/resize", "fieldManager", pick(s, "m1", "m2"), "force", s.sometimes(50, "true")), object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": p.name}, "spec": object{list: []any{container}}})
	case 2:
		s.patch(jsonPatch, path, []any{object{"op": pick(s, "add", "replace", "remove"), "path": pick(s, "/spec/containers/0/resources", "/spec/containers/0/resources/limits/cpu", "/spec/containers/0/resources/requests", "/spec/containers/1/resources", "/spec/resources", "/metadata/labels"), "value": pick(s, s.resources(), "2", any(object{"cpu": "2"}))}})
	default:
		patch := object{"spec": object{list: []any{container}}}
		if s.chance(10) {
			patch["metadata"] = object{"labels": object{"a": "b"}}
		}
		if s.chance(10) {
			patch["spec"] = object{"resources": s.resources()}
		}
		s.patch(strategicPatch, path, patch)
	}
}

// connect asks for a stream or for a proxied path.
func (p *podTeller) connect() {
	s := p.story
	path := pick(s, "/log", "/log", "/exec", "/attach", "/portforward", "/proxy", "/proxy/a/b", "/none")
	path = query(p.self()+path, "container", s.sometimes(40, "a", "none", "i", "e", ""), "command", s.sometimes(30, "ls"), "tailLines", s.sometimes(20, "1", "-1", "x"), "follow", s.sometimes(10, "true", "x"), "previous", s.sometimes(10, "true"),
		"limitBytes", s.sometimes(10, "0", "1"), "sinceSeconds", s.sometimes(10, "0", "1"), "sinceTime", s.sometimes(8, "x", "2026-01-02T03:04:05Z"), "stdout", s.sometimes(20, "true", "x"), "ports", s.sometimes(10, "80", "x"), "stream", s.sometimes(8, "All", "Stdout", "x"), "timestamps", s.sometimes(5, "true"))
	step := s.send(pick(s, http.MethodGet, http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete), path, nil)
	if !strings.Contains(path, "/log") { // an attempt to connect to an address without a kubelet
		step.Only = []string{"reason", "code"}
	}
}

func (p *podTeller) remove() {
	p.send(http.MethodDelete, query(p.self(), "gracePeriodSeconds", p.sometimes(40, "0", "5", "-1"), "dryRun", p.sometimes(15, "All")), nil)
}

// nodeStatus writes the status of the node, or asks for its subresources.
func (p *podTeller) nodeStatus() {
	s := p.story
	path := "/api/v1/nodes/" + p.node
	if s.chance(25) {
		step := s.send(http.MethodGet, path+pick(s, "", "/status", "/none"), nil)
		header(step, "Accept", s.accept())
		return
	}
	status := object{pick(s, "capacity", "allocatable"): object{"cpu": pick(s, "4", "x", "-1"), "pods": pick(s, "10", "1.5")}}
	if s.chance(50) {
		status["conditions"] = []any{object{"type": "Ready", "status": pick(s, "True", "x")}}
	}
	if s.chance(30) {
		status[pick(s, "addresses", "images", "volumesInUse", "daemonEndpoints", "config", "features")] = pick[any](s, []any{object{"type": "InternalIP", "address": "10.0.0.1"}, object{"type": "InternalIP", "address": "10.0.0.1"}}, []any{object{"names": []any{"x"}}}, []any{"a"}, object{}, nil)
	}
	s.patch(pick(s, mergePatch, strategicPatch), s.options(path+"/status"), object{"status": status, "spec": pick[any](s, object{"unschedulable": true}, nil)})
}

// service writes a service and its status.
func (p *podTeller) service() {
	s := p.story
	path := namespaced("v1", "services")
	s.send(http.MethodPost, path, object{"metadata": object{"name": "s"}, "spec": object{"type": pick(s, "ClusterIP", "LoadBalancer", "NodePort"), "ports": []any{object{"port": 80}}}})
	ingress := []any{object{"ip": pick(s, "192.0.2.1", "x"), "ipMode": pick[any](s, "VIP", "Proxy", "x", nil), "hostname": pick[any](s, nil, "a.example.com", "A b")}}
	s.patch(pick(s, mergePatch, strategicPatch), s.options(path+"/s/status"), object{"status": pick(s, object{"loadBalancer": object{"ingress": ingress}}, object{"conditions": []any{object{"type": "a", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}}}, object{"loadBalancer": nil})})
	s.send(http.MethodGet, path+"/"+pick(s, "s", "none", "s:x", "https:s:80")+"/proxy"+pick(s, "", "/a"), nil).Only = []string{"reason", "code"}
}

// namespace writes the namespace's status and finalizers.
func (p *podTeller) namespace() {
	s := p.story
	path := "/api/v1/namespaces/${ns}"
	o := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": pick(s, "${ns}", "${ns}", "other")}, "spec": object{"finalizers": pick[any](s, []any{"kubernetes"}, []any{"kubernetes", "example.com/f"}, []any{"x"}, []any{"kubernetes", "kubernetes"})}}
	var step *conversation.Step
	switch s.IntN(4) {
	case 0:
		step = s.send(http.MethodPut, s.options(path+"/finalize"), o)
	case 1:
		step = s.send(pick(s, http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete), path+"/finalize", o)
	case 2:
		step = s.patch(mergePatch, s.options(path+"/status"), object{"status": object{"conditions": []any{object{"type": "NamespaceDeletionContentFailure", "status": pick(s, "True", "x")}}, "phase": pick(s, "Active", "x", "")}})
	default:
		step = s.patch(mergePatch, s.options(path), object{"spec": object{"finalizers": []any{"kubernetes", "example.com/f"}}, "metadata": object{"labels": object{"kubernetes.io/metadata.name": pick[any](s, "x", nil)}}})
	}
	step.Ignore = []string{"metadata.managedFields"}
}

// finalize restores the finalizers of the namespace, so that it can be deleted.
func (p *podTeller) finalize() {
	p.send(http.MethodPut, "/api/v1/namespaces/${ns}/finalize", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "${ns}"}, "spec": object{"finalizers": []any{"kubernetes"}}}).Only = []string{"spec", "status"}
}

// scales tells of the scales of workloads.
func (s *story) scales() {
	template := object{"metadata": object{"labels": object{"app": "a"}}, "spec": object{"containers": []any{object{"name": "a", "image": "a"}}}}
	path := namespaced("apps/v1", pick(s, "deployments", "replicasets", "statefulsets"))
	o := object{"metadata": object{"name": "o"}, "spec": object{"replicas": 1, "selector": object{"matchLabels": object{"app": "a"}, "matchExpressions": pick[any](s, nil, []any{object{"key": "b", "operator": "DoesNotExist"}})}, "template": template}}
	if s.chance(30) {
		path = namespaced("v1", "replicationcontrollers")
		o["spec"] = object{"replicas": 1, "selector": object{"app": "a"}, "template": template}
	}
	save(s.send(http.MethodPost, path, o), "uid", "metadata.uid")
	self := path + "/o"
	for s.goesOn() {
		scale := object{"apiVersion": pick(s, "autoscaling/v1", "autoscaling/v1", "autoscaling/v1", "apps/v1", "extensions/v1beta1", "apps/v1beta1", ""), "kind": pick(s, "Scale", "Scale", "Scale", "Scale", "Deployment", ""), "metadata": object{"name": pick(s, "o", "o", "o", "", "p")}, "spec": object{"replicas": pick[any](s, 0, 1, 2, 5, -1, nil, "x", 2147483648)}}
		metadata := scale["metadata"].(object)
		if s.chance(30) {
			field := pick(s, "uid", "resourceVersion", "labels", "namespace", "creationTimestamp", "generation")
			metadata[field] = pick[any](s, "${uid}", "1", "none", object{"a": "b"}, "${ns}")
			if field == "resourceVersion" {
				metadata[field] = pick(s, "${rv}", "1", "none")
			}
		}
		if s.chance(15) {
			scale["status"] = object{"replicas": 3, "selector": "x"}
		}
		at := s.options(self + "/scale")
		s.happen(
			action{4, func() { save(s.send(http.MethodPut, at, scale), "rv", "metadata.resourceVersion") }},
			action{3, func() { s.patch(mergePatch, at, s.mergeFor(scale)) }},
			action{2, func() { s.patch(strategicPatch, at, s.strategicFor(scale)) }},
			action{2, func() { s.patch(jsonPatch, at, s.operationsFor(scale)) }},
			action{4, func() {
				s.patch(applyPatch, query(self+"/scale", "fieldManager", pick(s, "m1", "m2"), "force", s.sometimes(50, "true"), "dryRun", s.sometimes(8, "All")), scale)
			}},
			action{3, func() {
				step := s.send(http.MethodGet, self+pick(s, "/scale", ""), nil)
				save(step, "rv", "metadata.resourceVersion")
				if s.chance(30) {
					header(step, "Accept", s.accept())
				}
			}},
			action{1, func() { s.send(pick(s, http.MethodPost, http.MethodDelete), self+"/scale", scale) }},
			action{2, func() {
				s.patch(mergePatch, s.options(self+"/status"), object{"status": object{"replicas": pick(s, 0, 1, 3, -1), pick(s, "observedGeneration", "readyReplicas"): pick(s, 1, 2, -1)}})
			}},
			action{1, func() {
				s.patch(mergePatch, s.options(self), object{"spec": object{"replicas": pick[any](s, 1, nil, 4)}})
			}},
			action{1, func() {
				s.patch(applyPatch, query(self, "fieldManager", pick(s, "m1", "m2"), "force", "true"), object{"apiVersion": strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/"), "/namespaces")[0], "kind": pick(s, "Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"), "metadata": object{"name": "o"}, "spec": o["spec"]})
			}},
			action{1, func() {
				s.send(http.MethodDelete, query(self, "dryRun", s.sometimes(70, "All")), nil)
				s.pause(0.8) // until the garbage collector has orphaned what it had
			}},
		)
	}
}
