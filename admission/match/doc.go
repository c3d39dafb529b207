// Package match decides whether a policy or a webhook is about a request: by
// rules and selectors first, then by its match conditions, which are expressions.
//
// The nouns: a Request is a write as rules and expressions see it; a Form is the
// request in one of the versions that its resource is served in, since a rule
// that names another version than the client used may mean it too; Criteria are
// rules and selectors; Conditions are compiled match conditions; an Input is
// what expressions refer to.
//
// What is matched, objects in a version as expressions see them for example, is
// made at most once per request, and only when something looks at it. Packages
// policy and webhook build on this one.
package match
