// SPDX-License-Identifier: GPL-2.0-only

package metrics

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dm-ioband/tools/ioband-node/internal/node"
)

func source(connected bool, unavailable string, err error) Source {
	return Source{
		Ioband: func(context.Context) ([]byte, error) { return []byte("ioband_group_weight 300\n"), err },
		Counts: func() node.Counts {
			return node.Counts{Pods: 2, Changes: 5, Failures: 1, Unavailable: unavailable,
				Events: map[string]uint64{"IobandRefused": 3, "IobandBounded": 4}}
		},
		Pods: func() []node.Pod {
			return []node.Pod{{Namespace: "shop", Name: `we"b`, Cgroup: "/kubepods/pod1",
				Containers: map[string]node.Container{"c1": {Name: "db", Cgroup: "/kubepods/pod1/c1"}}}}
		},
		Connected: func() bool { return connected },
	}
}

func get(from Source, path string) (int, string) {
	recorder := httptest.NewRecorder()
	Handler(from).ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
	return recorder.Code, recorder.Body.String()
}

func TestMetrics(t *testing.T) {
	code, text := get(source(true, "", nil), "/metrics")
	for _, line := range []string{
		"ioband_group_weight 300",
		"ioband_node_figures_read 1",
		"ioband_node_nri_connected 1",
		"ioband_node_pods 2",
		"ioband_node_changes_total 5",
		"ioband_node_failures_total 1",
		`ioband_node_events_total{reason="IobandBounded"} 4`,
		`ioband_node_pod_info{namespace="shop",pod="we\"b",container="",group="/kubepods/pod1"} 1`,
		`ioband_node_pod_info{namespace="shop",pod="we\"b",container="db",group="/kubepods/pod1/c1"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%d, no line %q in\n%s", code, line, text)
		}
	}
	if _, text := get(source(true, "", errors.New("x")), "/metrics"); strings.Contains(text, "weight") ||
		!strings.Contains(text, "ioband_node_figures_read 0\n") {
		t.Errorf("without figures:\n%s", text)
	}
}

func TestRequestsShareOneRunOfIobandctl(t *testing.T) {
	from, runs, release := source(true, "", nil), atomic.Int32{}, make(chan struct{})
	from.Ioband = func(context.Context) ([]byte, error) {
		runs.Add(1)
		<-release
		return []byte("ioband_group_weight 300\n"), nil
	}
	handler, done := Handler(from), make(chan string)
	ask := func(ctx context.Context) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil).WithContext(ctx))
		done <- recorder.Body.String()
	}
	for range 5 {
		go ask(context.Background())
	}
	for runs.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	// A client that goes away waits no longer.
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	go ask(gone)
	if text := <-done; !strings.Contains(text, "ioband_node_figures_read 0\n") {
		t.Errorf("figures without a run:\n%s", text)
	}
	close(release)
	for range 5 {
		if text := <-done; !strings.Contains(text, "ioband_group_weight 300\n") {
			t.Errorf("no figures:\n%s", text)
		}
	}
	if runs.Load() != 1 {
		t.Errorf("iobandctl was run %d times", runs.Load())
	}
	time.Sleep(keep)
	go ask(context.Background())
	<-done
	if runs.Load() != 2 {
		t.Error("the text is kept for too long")
	}
}

func TestHealth(t *testing.T) {
	for _, test := range []struct {
		from Source
		code int
		says string
	}{
		{source(true, "", nil), 200, "ok"},
		{source(true, "no target", nil), 503, "no target"},
		{source(false, "", nil), 503, "is NRI enabled"},
	} {
		if code, text := get(test.from, "/healthz"); code != test.code || !strings.Contains(text, test.says) {
			t.Errorf("%d %q", code, text)
		}
	}
}
