// Package match decides whether a policy or a webhook applies to a request: by rules and selectors
// first, then by its match conditions, which are CEL expressions.
//
// A Request is a write as rules and expressions see it. A Form is the request in one of the
// versions in which its resource is served, since a rule for another version than the client used
// may match equivalent requests. Criteria are rules and selectors. Conditions are compiled match
// conditions. An Input holds the variables of expressions.
//
// The values of a Request, such as its objects in a version, are computed at most once and only
// when an expression uses them. Packages policy and webhook build on this one.
package match
