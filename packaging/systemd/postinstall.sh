#!/bin/sh
# Runs after the installation of a package: makes the user of the unit, which is not started.
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers miniapiserver.conf || exit
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
