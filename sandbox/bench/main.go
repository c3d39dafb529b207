// Command bench prints what a sandbox costs: the time until it is ready and until a Deployment runs, its
// memory, and the time, CPU time and memory for a large cluster and for the scene busy-cluster. make bench-sandbox
// runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/miniapiserver/miniapiserver/sandbox"
)

func main() {
	nodes := flag.Int("nodes", 1000, "Number of nodes of the large cluster; 0 leaves it out.")
	pods := flag.Int("pods", 10000, "Number of pods of the large cluster.")
	flag.Parse()
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	if err := run(context.Background(), *nodes, *pods); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, nodes, pods int) error {
	if err := small(ctx); err != nil || nodes == 0 {
		return err
	}
	if err := large(ctx, nodes, pods); err != nil {
		return err
	}
	return busy(ctx)
}

// busy measures the scene busy-cluster.
func busy(ctx context.Context) error {
	debug.FreeOSMemory() // of the sandboxes before
	began, cpu := time.Now(), cpuTime()
	s, err := sandbox.New(ctx, sandbox.Options{Scene: "busy-cluster"})
	if err != nil {
		return err
	}
	fmt.Printf("scene busy-cluster has settled:     %6.0f s, %.0f s of CPU, %d MB\n", time.Since(began).Seconds(), (cpuTime() - cpu).Seconds(), residentMB())
	return s.Stop(ctx)
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// idle is the time after which the memory of a sandbox without work is read.
const idle = 5 * time.Second

// small measures a sandbox of one node.
func small(ctx context.Context) error {
	began := time.Now()
	s, err := sandbox.New(ctx, sandbox.Options{})
	if err != nil {
		return err
	}
	fmt.Printf("ready, one node:                    %6.2f s\n", time.Since(began).Seconds())
	time.Sleep(idle)
	fmt.Printf("resident memory, idle:              %6d MB\n", residentMB())
	began = time.Now()
	if err := deploy(ctx, s, "web", 3, ""); err != nil {
		return err
	}
	if err := await(ctx, s, 3); err != nil {
		return err
	}
	fmt.Printf("a Deployment of 3 pods is Running:  %6.2f s\n", time.Since(began).Seconds())
	return s.Stop(ctx)
}

// large measures a sandbox of many nodes and pods.
func large(ctx context.Context, nodes, pods int) error {
	const each = 100
	began, cpu := time.Now(), cpuTime()
	s, err := sandbox.New(ctx, sandbox.Options{Nodes: nodes})
	if err != nil {
		return err
	}
	for i := range pods / each {
		if err := deploy(ctx, s, fmt.Sprint("load-", i), each, "10m"); err != nil {
			return err
		}
	}
	if err := await(ctx, s, pods/each*each); err != nil {
		return err
	}
	fmt.Printf("%d nodes, %d pods Running:      %6.0f s, %.0f s of CPU, %d MB\n", nodes, pods/each*each, time.Since(began).Seconds(), (cpuTime() - cpu).Seconds(), residentMB())
	return s.Stop(ctx)
}

func deploy(ctx context.Context, s *sandbox.Sandbox, name string, replicas int32, cpu string) error {
	labels := map[string]string{"app": name}
	container := corev1.Container{Name: "main", Image: "nginx"}
	if cpu != "" {
		container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	_, err := s.Client.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}},
		}},
	}, metav1.CreateOptions{})
	return err
}

// await waits until a number of pods are Running.
func await(ctx context.Context, s *sandbox.Sandbox, pods int) error {
	w, err := s.Client.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer w.Stop()
	running := map[string]bool{}
	for e := range w.ResultChan() {
		if pod, ok := e.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodRunning {
			if running[pod.Name] = true; len(running) == pods {
				return nil
			}
		}
	}
	return fmt.Errorf("the watch ended with %d of %d pods Running", len(running), pods)
}

// residentMB returns the memory of this process.
func residentMB() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, _ := strconv.Atoi(strings.Fields(rest)[0])
	return kb / 1024
}
