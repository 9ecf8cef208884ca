// SPDX-License-Identifier: GPL-2.0-only

// Package metrics answers Prometheus and the kubelet.
package metrics

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"time"

	"dm-ioband/tools/ioband-node/internal/node"
)

// scrapePatience is less than Prometheus waits by default, 10 seconds.
const scrapePatience = 8 * time.Second

// keep is how long the text of iobandctl answers all requests.
const keep = time.Second

// WriteTimeout is the time for an answer, with its text.
const WriteTimeout = scrapePatience + 7*time.Second

// Source is what the figures come from.
type Source struct {
	// Ioband returns the text of iobandctl metrics.
	Ioband func(ctx context.Context) ([]byte, error)
	Counts func() node.Counts
	Pods   func() []node.Pod
	// Connected tells whether the container runtime is.
	Connected func() bool
}

// Handler serves /metrics and /healthz.
func Handler(source Source) http.Handler {
	source.Ioband = (&cache{read: source.Ioband, turn: make(chan struct{}, 1)}).get
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", source.metrics)
	mux.HandleFunc("GET /healthz", source.health)
	return mux
}

// cache has iobandctl run once at a time, however many requests there are.
type cache struct {
	read func(ctx context.Context) ([]byte, error)
	turn chan struct{} // has an entry while what follows is used

	last figures
	end  time.Time
}

type figures struct {
	text []byte
	err  error
}

func (c *cache) get(ctx context.Context) ([]byte, error) {
	got := make(chan figures, 1)
	select {
	case c.turn <- struct{}{}:
		go func() {
			defer func() { <-c.turn }()
			got <- c.fresh(ctx)
		}()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case now := <-got:
		return now.text, now.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *cache) fresh(ctx context.Context) figures {
	if time.Now().After(c.end) {
		c.last.text, c.last.err = c.read(context.WithoutCancel(ctx))
		c.end = time.Now().Add(keep)
	}
	return c.last
}

// health answers whether pods get their settings, or why not.
func (s Source) health(answer http.ResponseWriter, _ *http.Request) {
	problem := s.Counts().Unavailable
	if !s.Connected() {
		problem = "the container runtime is not connected: is NRI enabled there?"
	}
	if problem != "" {
		http.Error(answer, problem, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(answer, "ok")
}

func (s Source) metrics(answer http.ResponseWriter, request *http.Request) {
	ctx, cancel := context.WithTimeout(request.Context(), scrapePatience)
	defer cancel()
	var text bytes.Buffer
	figures, err := s.Ioband(ctx)
	if err == nil {
		text.Write(figures)
	}
	s.own(&text, err == nil)
	answer.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = answer.Write(text.Bytes())
}

func family(text *bytes.Buffer, name, kind, help string) {
	fmt.Fprintf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}

// own are the figures of the process, and which group is a pod's.
func (s Source) own(text *bytes.Buffer, read bool) {
	counts := s.Counts()
	family(text, "ioband_node_figures_read", "gauge", "Whether iobandctl could read the figures of the kernel.")
	fmt.Fprintf(text, "ioband_node_figures_read %d\n", flag(read))
	family(text, "ioband_node_nri_connected", "gauge", "Whether the container runtime is connected.")
	fmt.Fprintf(text, "ioband_node_nri_connected %d\n", flag(s.Connected()))
	family(text, "ioband_node_pods", "gauge", "Pods that run on the node.")
	fmt.Fprintf(text, "ioband_node_pods %d\n", counts.Pods)
	family(text, "ioband_node_changes_total", "counter", "Groups whose settings were changed.")
	fmt.Fprintf(text, "ioband_node_changes_total %d\n", counts.Changes)
	family(text, "ioband_node_failures_total", "counter", "Groups whose settings could not be changed.")
	fmt.Fprintf(text, "ioband_node_failures_total %d\n", counts.Failures)
	family(text, "ioband_node_events_total", "counter", "Warnings about pods, by reason.")
	for _, reason := range sorted(counts.Events) {
		fmt.Fprintf(text, "ioband_node_events_total{reason=\"%s\"} %d\n", reason, counts.Events[reason])
	}
	family(text, "ioband_node_pod_info", "gauge", "Which group is that of a pod or of its container.")
	for _, line := range s.info() {
		fmt.Fprintln(text, line)
	}
}

func sorted(counts map[string]uint64) []string {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (s Source) info() []string {
	var lines []string
	add := func(pod node.Pod, container, path string) {
		if path != "" {
			lines = append(lines, fmt.Sprintf(
				`ioband_node_pod_info{namespace="%s",pod="%s",container="%s",group="%s"} 1`,
				label(pod.Namespace), label(pod.Name), label(container), label(path)))
		}
	}
	for _, pod := range s.Pods() {
		add(pod, "", pod.Cgroup)
		for _, container := range pod.Containers {
			add(pod, container.Name, container.Cgroup)
		}
	}
	sort.Strings(lines)
	return lines
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func label(text string) string { return escapes.Replace(text) }
