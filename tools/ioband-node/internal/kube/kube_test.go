// SPDX-License-Identifier: GPL-2.0-only

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dm-ioband/tools/ioband-node/internal/node"
)

// heard collects what a listener is told.
type heard chan string

func (h heard) Edit(pod node.Identity, annotations map[string]string) {
	h <- fmt.Sprint(pod.Namespace, "/", pod.Name, " ", pod.UID, " ", annotations["a"])
}

func (h heard) Forget(keep func(node.Identity) bool) {
	forgets := func(uid string) bool { return !keep(node.Identity{Namespace: "shop", Name: "of-" + uid, UID: uid}) }
	h <- fmt.Sprint("forget u1=", forgets("u1"), " u2=", forgets("u2"))
}

func (h heard) Listed() {}

func (h heard) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, line := range want {
		select {
		case got := <-h:
			if got != line {
				t.Fatalf("heard %q, want %q", got, line)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("heard nothing, want %q", line)
		}
	}
}

func pod(uid, value string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"of-%s","uid":%q,"resourceVersion":"7","annotations":{"a":%q}}}`,
		uid, uid, value)
}

func TestWatch(t *testing.T) {
	lists, versions := 0, make(chan string, 10)
	push := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		if request.URL.Path != "/api/v1/pods" || query.Get("fieldSelector") != "spec.nodeName=n1" {
			t.Errorf("asked for %s", request.URL)
		}
		if query.Get("watch") == "" {
			lists++
			fmt.Fprintf(answer, `{"metadata":{"resourceVersion":"%d"},"items":[%s]}`, lists, pod("u1", "first"))
			return
		}
		versions <- query.Get("resourceVersion")
		for line := range push {
			if line == "" {
				return
			}
			fmt.Fprintln(answer, line)
			answer.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	defer close(push)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	told := make(heard, 100)
	go New(server.URL+"/", "n1").Run(ctx, told)
	told.expect(t, "shop/of-u1 u1 first", "forget u1=false u2=true")
	push <- `{"type":"MODIFIED","object":` + pod("u1", "second") + `}`
	push <- `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`
	told.expect(t, "shop/of-u1 u1 second")
	time.Sleep(retry)
	push <- "" // the server ends the watch, which goes on from where it was
	push <- `{"type":"ADDED","object":` + pod("u2", "x") + `}`
	push <- `{"type":"DELETED","object":` + pod("u1", "x") + `}`
	told.expect(t, "shop/of-u2 u2 x", "forget u1=true u2=false")
	if first, second := <-versions, <-versions; first != "1" || second != "9" {
		t.Errorf("watched from %s and %s", first, second)
	}
	push <- `{"type":"ERROR","object":{"code":410,"message":"too old"}}`
	told.expect(t, "shop/of-u1 u1 first", "forget u1=false u2=true")
}

func TestAServerThatDoesNotAnswer(t *testing.T) {
	const patience = 200 * time.Millisecond
	lists, watches := atomic.Int32{}, atomic.Int32{}
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		switch {
		case request.URL.Query().Get("watch") != "":
			watches.Add(1)
			answer.(http.Flusher).Flush() // the header is there at once, and no event for long
			time.Sleep(10 * patience)
			fmt.Fprintln(answer, `{"type":"MODIFIED","object":`+pod("u1", "late")+`}`)
			answer.(http.Flusher).Flush()
			<-over
		case lists.Add(1) == 1:
			<-over
		default:
			fmt.Fprintf(answer, `{"metadata":{"resourceVersion":"1"},"items":[%s]}`, pod("u1", "first"))
		}
	}))
	defer server.Close()
	defer close(over)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := New(server.URL, "n1")
	bounds := client.http.Transport.(*http.Transport)
	if bounds.ResponseHeaderTimeout <= 0 || bounds.ResponseHeaderTimeout > listPatience {
		t.Errorf("an answer is awaited for %v", bounds.ResponseHeaderTimeout)
	}
	bounds.ResponseHeaderTimeout = patience
	told := make(heard, 100)
	go client.Run(ctx, told)
	told.expect(t, "shop/of-u1 u1 first", "forget u1=false u2=true", "shop/of-u1 u1 late")
	if n := watches.Load(); n != 1 {
		t.Errorf("a quiet watch was cut: there were %d", n)
	}
}

func TestAServerThatDoesNotShakeHands(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // connections are accepted by the kernel
	client := New("https://"+listener.Addr().String(), "n1")
	bounds := client.http.Transport.(*http.Transport)
	if bounds.TLSHandshakeTimeout <= 0 || bounds.DialContext == nil {
		t.Errorf("no bounds: %+v", bounds)
	}
	bounds.TLSHandshakeTimeout = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := client.do(ctx, http.MethodGet, "/", nil); err == nil || ctx.Err() != nil {
		t.Errorf("%v", err)
	}
}

func TestStaticPodsAreKnownByTheirHash(t *testing.T) {
	static := Metadata{Namespace: "kube-system", Name: "etcd-n1", UID: "mirror",
		Annotations: map[string]string{configHash: "hash"}}
	if got := static.Identity(); got != (node.Identity{Namespace: "kube-system", Name: "etcd-n1", UID: "hash"}) {
		t.Error(got)
	}
}

func TestEvents(t *testing.T) {
	bodies, codes := make(chan event, 10), []int{429, 401, 503, 201, 409, 403}
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost || request.URL.Path != "/api/v1/namespaces/shop/events" {
			t.Errorf("%s %s", request.Method, request.URL)
		}
		var got event
		if err := json.NewDecoder(request.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		answer.WriteHeader(codes[0])
		codes = codes[1:]
		bodies <- got
	}))
	defer server.Close()
	events := NewEvents(New(server.URL, "n1"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go events.Run(ctx)
	warn := func(message string) { events.Warn("shop", "web-0", "u1", "IobandRefused", message) }
	warn("no")
	<-bodies // 429
	<-bodies // 401
	first, again := <-bodies, <-bodies
	if first.Metadata["name"] != again.Metadata["name"] || !strings.HasPrefix(first.Metadata["name"], "web-0.") {
		t.Errorf("names %v, %v", first.Metadata, again.Metadata)
	}
	if first.Involved != (Object{"v1", "Pod", "shop", "web-0", "u1"}) || first.Type != "Warning" ||
		first.Reason != "IobandRefused" || first.Message != "no" || first.Source != (source{"ioband-node", "n1"}) {
		t.Errorf("%+v", first)
	}
	warn("no")
	if same := <-bodies; same.Metadata["name"] != first.Metadata["name"] {
		t.Error("the same event has another name")
	}
	warn(strings.Repeat("x", 2000))
	if long := <-bodies; len(long.Message) != messageMax || long.Metadata["name"] == first.Metadata["name"] {
		t.Errorf("%d letters, name %s", len(long.Message), long.Metadata["name"])
	}
}

func TestAFullQueue(t *testing.T) {
	events := NewEvents(New("http://127.0.0.1:1", "n1"))
	name := strings.Repeat("n", nameMax)
	for range queue {
		if !events.Warn("shop", name, "u1", "IobandRefused", "no") {
			t.Fatal("the queue is full")
		}
	}
	if events.Warn("shop", name, "u1", "IobandRefused", "no") {
		t.Error("more than the queue has is taken")
	}
	if first := <-events.wait; len(first.Metadata["name"]) != nameMax {
		t.Errorf("a name of %d letters", len(first.Metadata["name"]))
	}
	events.Warn("shop", strings.Repeat("n-", nameMax/2), "u1", "IobandRefused", "no")
	if name := last(events.wait).Metadata["name"]; strings.Contains(name, "-.") {
		t.Errorf("the API server refuses the name %q", name)
	}
}

// last empties a channel.
func last(channel chan event) (latest event) {
	for len(channel) > 0 {
		latest = <-channel
	}
	return latest
}

func TestOnlyInACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := InCluster("n1"); err == nil || !strings.Contains(err.Error(), "--no-kube") {
		t.Error(err)
	}
}
