#!/bin/sh
# Runs the kubectl that PATH has. envtest expects one beside kube-apiserver and etcd.
IFS=:
for dir in $PATH; do
	if [ -f "$dir/kubectl" ] && [ -x "$dir/kubectl" ] && ! [ "$dir/kubectl" -ef "$0" ]; then
		unset IFS
		exec "$dir/kubectl" "$@"
	fi
done
echo "kubectl: there is none in PATH; https://kubernetes.io/docs/tasks/tools tells how to install it" >&2
exit 127
