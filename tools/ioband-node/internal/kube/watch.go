// SPDX-License-Identifier: GPL-2.0-only

package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"time"

	"dm-ioband/tools/ioband-node/internal/node"
)

// Pod has the parts of a pod that are read.
type Pod struct {
	Metadata Metadata `json:"metadata"`
}

// Metadata is that of a pod or a list.
type Metadata struct {
	Namespace       string            `json:"namespace"`
	Name            string            `json:"name"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Annotations     map[string]string `json:"annotations"`
}

// configHash is the annotation of a static pod with the UID by which the runtime knows it.
const configHash = "kubernetes.io/config.hash"

// Identity is how the runtime knows a pod.  Any pod may have the annotation, so the UID is
// another's at times; the namespace and the name are its own.
func (m Metadata) Identity() node.Identity {
	return node.Identity{
		Namespace: m.Namespace, Name: m.Name, UID: cmp.Or(m.Annotations[configHash], m.UID),
	}
}

// Listener is told of the pods of this node.
type Listener interface {
	Edit(pod node.Identity, annotations map[string]string)
	Forget(keep func(pod node.Identity) bool)
	Listed()
}

// retry is the time between two attempts to reach the server.
const retry = time.Second

// listPatience is how long a list may take.
const listPatience = 30 * time.Second

const (
	// watchTime is how long the server lets a watch last; then another begins.
	watchTime = 5 * time.Minute
	// watchGrace is how much later a watch ends that the server has not ended, because a proxy
	// between keeps the connection.
	watchGrace = 30 * time.Second
)

// Run follows the annotations of the pods, until the end.
func (c *Client) Run(ctx context.Context, listener Listener) {
	said := ""
	for ctx.Err() == nil {
		version, err := c.list(ctx, listener)
		for err == nil && ctx.Err() == nil {
			said = ""
			version, err = c.watch(ctx, version, listener)
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			log.Printf("cluster: %s; trying again", said)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// list reads all pods of the node.
func (c *Client) list(ctx context.Context, listener Listener) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	response, err := c.do(ctx, http.MethodGet, c.podsPath(nil), nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", failure(response)
	}
	var pods struct {
		Metadata Metadata `json:"metadata"`
		Items    []Pod    `json:"items"`
	}
	if err := json.NewDecoder(response.Body).Decode(&pods); err != nil {
		return "", fmt.Errorf("the list of pods: %w", err)
	}
	known := map[node.Identity]bool{}
	for _, pod := range pods.Items {
		known[pod.Metadata.Identity()] = true
		listener.Edit(pod.Metadata.Identity(), pod.Metadata.Annotations)
	}
	listener.Forget(func(pod node.Identity) bool { return known[pod] })
	listener.Listed()
	return pods.Metadata.ResourceVersion, nil
}

type watchEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// watch follows the pods from a version on; it returns that of the last event when the
// server ends it, or an error after which all pods are to be read again.
func (c *Client) watch(ctx context.Context, version string, listener Listener) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTime+watchGrace)
	defer cancel()
	response, err := c.do(ctx, http.MethodGet, c.podsPath(url.Values{
		"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version},
		"timeoutSeconds": {fmt.Sprint(int(watchTime.Seconds()))},
	}), nil)
	if err != nil {
		return version, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return version, failure(response)
	}
	decoder := json.NewDecoder(response.Body)
	begun := time.Now()
	for {
		var event watchEvent
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) && time.Since(begun) > retry {
			return version, nil
		}
		if err != nil {
			return version, fmt.Errorf("the watch of pods: %w", err)
		}
		if version, err = handle(event, version, listener); err != nil {
			return version, err
		}
	}
}

func handle(event watchEvent, version string, listener Listener) (string, error) {
	if event.Type == "ERROR" {
		var status struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		_ = json.Unmarshal(event.Object, &status)
		return version, &statusError{status.Code, status.Message}
	}
	var pod Pod
	if err := json.Unmarshal(event.Object, &pod); err != nil {
		return version, fmt.Errorf("the watch of pods: %w", err)
	}
	if pod.Metadata.ResourceVersion != "" {
		version = pod.Metadata.ResourceVersion
	}
	switch event.Type {
	case "ADDED", "MODIFIED":
		listener.Edit(pod.Metadata.Identity(), pod.Metadata.Annotations)
	case "DELETED":
		gone := pod.Metadata.Identity()
		listener.Forget(func(pod node.Identity) bool { return pod != gone })
	}
	return version, nil
}
