#!/bin/sh
# etcd: the server beside this file, called as etcd. In an archive this is half as large as another copy.
exec "$(dirname "$(readlink -f "$0")")/kube-apiserver" etcd "$@"
