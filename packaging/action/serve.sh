#!/usr/bin/env bash
# Starts a server that keeps nothing, and sets KUBECONFIG for the steps that follow. The environment has FLAGS, one a line,
# and what a runner sets.
set -euo pipefail

flags=()
while IFS= read -r flag; do
	if [[ -n $flag ]]; then
		flags+=("$flag")
	fi
done <<<"$FLAGS"

dir=$(mktemp -d "$RUNNER_TEMP/miniapiserver-XXXXXX")
nohup miniapiserver --ephemeral --secure-port=0 --output=json ${flags[@]+"${flags[@]}"} </dev/null >"$dir/ready" 2>"$dir/log" &
server=$!
until [[ -s $dir/ready ]]; do
	if ! kill -0 "$server" 2>/dev/null; then
		echo "::error::the server did not start: $(tail -1 "$dir/log")"
		exit 1
	fi
	sleep 0.1
done
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$dir/ready" | sed 's/\\\\/\//g'; } # Windows has \ in paths
echo "KUBECONFIG=$(field kubeconfig)" >>"$GITHUB_ENV"
{
	echo "kubeconfig=$(field kubeconfig)"
	echo "url=$(field url)"
	echo "pid=$server"
} >>"$GITHUB_OUTPUT"
