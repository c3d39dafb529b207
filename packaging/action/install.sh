#!/usr/bin/env bash
# Downloads an archive of miniapiserver, verifies its checksum, and puts the program into PATH of the steps that follow.
# The environment has VERSION, SHA512 and DIST_URL, and what a runner sets.
set -euo pipefail

case $RUNNER_OS in
Linux) os=linux suffix=tar.gz program=miniapiserver ;;
macOS) os=darwin suffix=tar.gz program=miniapiserver ;;
Windows) os=windows suffix=zip program=miniapiserver.exe ;;
*) echo "::error::there is no miniapiserver for $RUNNER_OS" && exit 1 ;;
esac
case $RUNNER_ARCH in
X64) arch=amd64 ;;
ARM64) arch=arm64 ;;
*) echo "::error::there is no miniapiserver for $RUNNER_ARCH" && exit 1 ;;
esac
archive=miniapiserver-$os-$arch.$suffix
if [[ $VERSION == latest ]]; then
	url=$DIST_URL/latest/download
else
	url=$DIST_URL/download/$VERSION
fi

dir=$(mktemp -d "$RUNNER_TEMP/miniapiserver-XXXXXX")
cd "$dir"
curl --fail --silent --show-error --location --retry 3 --output "$archive" "$url/$archive"
if [[ -z $SHA512 ]]; then
	curl --fail --silent --show-error --location --retry 3 --output SHA512SUMS "$url/SHA512SUMS"
	SHA512=$(awk -v name="$archive" '$2 == name { print $1 }' SHA512SUMS)
fi
if command -v sha512sum >/dev/null; then
	sum=$(sha512sum "$archive")
else
	sum=$(shasum -a 512 "$archive") # macOS
fi
if [[ ${sum%% *} != "$SHA512" ]]; then
	echo "::error::$url/$archive has the checksum ${sum%% *}, and not $SHA512"
	exit 1
fi
if [[ $suffix == zip ]]; then
	unzip -q "$archive"
else
	tar -xzf "$archive"
fi
rm "$archive"
echo "$dir" >>"$GITHUB_PATH"
echo "path=$dir/$program" >>"$GITHUB_OUTPUT"
"./$program" version
