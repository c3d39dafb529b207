@echo off
rem Runs the kubectl.exe that PATH has. envtest expects a kubectl beside kube-apiserver and etcd.
setlocal
set "found="
for %%i in (kubectl.exe) do set "found=%%~$PATH:i"
if not defined found (
  echo kubectl: there is none in PATH; https://kubernetes.io/docs/tasks/tools tells how to install it >&2
  exit /b 127
)
"%found%" %*
