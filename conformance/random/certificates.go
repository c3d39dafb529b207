package random

import (
	"net/http"

	"github.com/miniapiserver/miniapiserver/lab/conversation"
)

const signingRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

// certificates tells of certificate signing requests, and of users who approve and sign them.
func (s *story) certificates() {
	names := []string{"c-${id}", "d-${id}"}
	for _, name := range names {
		s.cleanup(signingRequests + "/" + name)
	}
	s.cleanup(clusterRoles + "/signers-${id}")
	s.cleanup(clusterBindings + "/signers-${id}")
	rules := []any{object{"apiGroups": []any{"certificates.k8s.io"}, "resources": []any{"certificatesigningrequests", "certificatesigningrequests/approval", "certificatesigningrequests/status"}, "verbs": []any{"*"}}}
	if s.chance(50) {
		rules = append(rules, object{"apiGroups": []any{"certificates.k8s.io"}, "resources": []any{"signers"}, "verbs": s.several("approve", "sign", "attest", "*"), "resourceNames": s.several("example.com/*", "example.com/s", "kubernetes.io/kube-apiserver-client", "*")})
	}
	s.send(http.MethodPost, clusterRoles, object{"metadata": object{"name": "signers-${id}"}, "rules": rules}).Only = []string{"kind"}
	s.send(http.MethodPost, clusterBindings, object{"metadata": object{"name": "signers-${id}"}, "roleRef": object{"apiGroup": rbac, "kind": "ClusterRole", "name": "signers-${id}"}, "subjects": []any{object{"kind": "User", "name": "u-${id}"}}}).Only = []string{"kind"}
	s.pause(0.5)
	for s.goesOn() {
		c := &certificateTeller{s, signingRequests + "/" + pick(s, names...)}
		s.happen(action{5, c.create}, action{6, c.approve}, action{5, c.sign}, action{3, c.get}, action{1, c.update}, action{1, c.remove})
	}
}

// certificateTeller changes one certificate signing request.
type certificateTeller struct {
	*story
	self string
}

// asUser sends a step as a user with few permissions, sometimes.
func (c *certificateTeller) asUser(step *conversation.Step) {
	if c.chance(40) {
		header(step, "Impersonate-User", pick(c.story, "u-${id}", "u-${id}", "v-${id}", "system:node:n-${id}"))
		if c.chance(15) {
			header(step, "Impersonate-Group", pick(c.story, "system:nodes", "system:bootstrappers", "system:masters"))
		}
	}
	step.Ignore = append(step.Ignore, "metadata.managedFields")
}

func (c *certificateTeller) create() {
	s := c.story
	request := pick(s, signingRequest("x"), signingRequest("system:node:n", "system:nodes"), signingRequest("x", "system:masters"), signingRequest("system:node:n"), "YQ==", "", "?")
	spec := object{"request": request, "signerName": pick(s, "example.com/s", "example.com/s", "example.com/t", "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown", "x", "", "example.com/a/b"),
		"usages": pick[any](s, []any{"client auth"}, []any{"digital signature", "client auth"}, []any{"digital signature", "key encipherment", "server auth"}, []any{}, []any{"x"}, nil, []any{"client auth", "client auth"})}
	if s.chance(30) {
		spec["expirationSeconds"] = pick[any](s, 600, 599, 86400, 0, -1, nil)
	}
	if s.chance(20) {
		spec[pick(s, "username", "groups", "uid", "extra")] = pick[any](s, "x", []any{"x"}, object{"a": []any{"b"}})
	}
	name := c.self[len(signingRequests)+1:]
	o := object{"metadata": object{"name": name}, "spec": spec}
	if s.chance(20) {
		o["status"] = object{"conditions": []any{object{"type": "Approved", "status": "True"}}, "certificate": "YQ=="}
	}
	c.asUser(s.send(http.MethodPost, s.options(signingRequests), o))
	c.followed()
}

// followed waits for the controllers that approve, deny and sign the requests of some signers.
func (c *certificateTeller) followed() { c.pause(0.4) }

func (c *certificateTeller) conditions() any {
	s := c.story
	list := []any{}
	for range 1 + s.IntN(2) {
		condition := object{"type": pick(s, "Approved", "Approved", "Denied", "Failed", "x", ""), "status": pick(s, "True", "True", "True", "False", "Unknown", "")}
		if s.chance(60) {
			condition["reason"], condition["message"] = pick(s, "R", ""), "m"
		}
		if s.chance(10) {
			condition[pick(s, "lastUpdateTime", "lastTransitionTime")] = "2026-01-02T03:04:05Z"
		}
		list = append(list, condition)
	}
	return list
}

// approve writes the conditions of a request.
func (c *certificateTeller) approve() {
	s := c.story
	status := object{"conditions": c.conditions()}
	if s.chance(10) {
		status["certificate"] = "YQ=="
	}
	c.write(pick(s, "/approval", "/approval", "/approval", "/status"), status)
}

// sign writes the certificate of a request.
func (c *certificateTeller) sign() {
	s := c.story
	status := object{"certificate": pick[any](s, certificatePEM, certificatePEM, "YQ==", "", "?", nil)}
	if s.chance(30) {
		status["conditions"] = c.conditions()
	}
	c.write(pick(s, "/status", "/status", "/status", "/approval"), status)
}

func (c *certificateTeller) write(subresource string, status object) {
	s := c.story
	path := s.options(c.self + subresource)
	o := object{"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": object{"name": c.self[len(signingRequests)+1:]}, "status": status}
	switch s.IntN(5) {
	case 0:
		s.patch(applyPatch, query(c.self+subresource, "fieldManager", pick(s, "m1", "m2"), "force", s.sometimes(50, "true")), o)
	case 1:
		o["spec"] = object{"request": signingRequest("x"), "signerName": "example.com/s", "usages": []any{"client auth"}}
		s.send(http.MethodPut, path, o)
	default:
		s.patch(pick(s, mergePatch, strategicPatch), path, object{"status": status})
	}
	c.asUser(s.last())
	c.followed()
}

func (c *certificateTeller) get() {
	step := c.send(http.MethodGet, c.self+pick(c.story, "", "", "/status", "/approval", "/none"), nil)
	if c.chance(50) {
		header(step, "Accept", c.accept())
		return
	}
	c.asUser(step)
}

func (c *certificateTeller) update() {
	c.patch(mergePatch, c.options(c.self), object{"spec": object{pick(c.story, "signerName", "usages", "username", "expirationSeconds"): pick[any](c.story, "example.com/t", []any{"server auth"}, 700)}, "metadata": object{"labels": object{"a": "b"}}})
	c.asUser(c.last())
}

func (c *certificateTeller) remove() {
	c.asUser(c.send(http.MethodDelete, query(c.self, "dryRun", c.sometimes(30, "All")), nil))
}

// certificatePEM is a certificate in PEM and base64. Nobody compares it with a request.
var certificatePEM = selfSigned()
