// Package plugins lists the admission plugins and has every plugin of a single file, each named after
// its plugin. Package admission describes what a plugin is.
//
// plugins.go has the list, in order; New builds the chain of the enabled plugins from it. Plugins of
// several files are packages beside this one, such as podsecurity; policies and webhooks, which need
// more of the server, are passed to New. limits.go is a part of
// LimitRanger, and tolerations.go of several plugins.
package plugins
