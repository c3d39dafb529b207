@echo off
rem A plugin of kubectl: the server beside this file, called by the name of the plugin.
"%~dp0kube-apiserver.exe" %~n0 %*
