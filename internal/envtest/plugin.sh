#!/bin/sh
# A plugin of kubectl: the server beside this file, called by the name of the plugin.
exec "$(dirname "$(readlink -f "$0")")/kube-apiserver" "${0##*/}" "$@"
