// Package expression compiles and evaluates the CEL expressions of admission:
// those of policies and of the match conditions of webhooks.
//
// The nouns: a Compiler knows what an expression may refer to, and the
// variables that were declared so far; a Program is a compiled expression, or
// what is wrong with it; a Frame evaluates programs about one request, with
// each variable computed at most once and when it is first needed, within a
// budget of cost.
//
// The language and its functions are those of kube-apiserver: its function
// libraries are used as they are. Package api uses compilers to validate what
// clients send; admission evaluates. This package knows no kind.
package expression
