#!/usr/bin/env bash
# Writes the programs for envtest, and sets KUBEBUILDER_ASSETS for the steps that follow. The environment has
# KUBERNETES_VERSION and CONTROLLERS, and what a runner sets.
set -euo pipefail

flags=(--controllers "$CONTROLLERS")
if [[ -n $KUBERNETES_VERSION ]]; then
	flags+=(--version "$KUBERNETES_VERSION")
fi
assets=$(miniapiserver envtest "${flags[@]}")
echo "KUBEBUILDER_ASSETS=$assets" >>"$GITHUB_ENV"
echo "kubebuilder-assets=$assets" >>"$GITHUB_OUTPUT"
