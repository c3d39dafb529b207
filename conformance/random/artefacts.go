package random

import (
	"fmt"
	"regexp"
)

// artefacts are differences that say nothing about this server, with their reasons. A pattern is matched
// against the method and the path of the step and a line for each difference.
var artefacts = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`want "?This request caused apiserver to panic`), "kube-apiserver panics"},
	{regexp.MustCompile(`no unsafe deleter provided`), "kube-apiserver reports an error of its developers for the kinds of RBAC"},
	{regexp.MustCompile(`timeoutSeconds=-1.*\nevents.length: `), "kube-apiserver chooses at random between the end, an error and the events of a watch whose time is over before it begins"},
	{regexp.MustCompile(`resourceVersion=999999999.*\nevents.length: want 2 got 1`), "kube-apiserver chooses at random between the timeout and the error of a watch when both are there"},
	{regexp.MustCompile(`\nconnection: want .*EOF`), "kube-apiserver drops the connection after a panic"},
	{regexp.MustCompile(`essage: want "?Resource kind [^\n]* not found. There can be a delay`), "kube-apiserver's schemas for policies of a new kind are late"},
	{regexp.MustCompile(`essage: want "?policy .*no params found for policy binding`), "kube-apiserver's informer of parameters is stale after the last policy with their kind was deleted"},
	{regexp.MustCompile(`failed to allocate IP: IPAddress`), "kube-apiserver names an address that it has chosen at random"},
	{regexp.MustCompile(`^\w+ \S*/customresourcedefinitions\S*\nheaders.warning: want [^\n]*unrecognized format[^\n]* got [^\n]*unrecognized format[^\n]*$`), "kube-apiserver warns of formats in random order"},
	{regexp.MustCompile(`^GET /apis/[^/]*example\.com/\w+\n(body\.resources\[\d+\]\.(name|kind|singularName|namespaced|shortNames|categories|storageVersionHash|verbs).*\n?)*$`), "kube-apiserver lists the kinds of a group in random order"},
}

// artefact returns the reason why a finding is none, or "".
func (f Finding) artefact() string {
	step := f.Step()
	text := step.Method + " " + step.Path
	for _, d := range f.Differences {
		text += "\n" + fmt.Sprint(d)
	}
	for _, a := range artefacts {
		if a.pattern.MatchString(text) {
			return a.reason
		}
	}
	return ""
}
