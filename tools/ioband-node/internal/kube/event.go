// SPDX-License-Identifier: GPL-2.0-only

package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"time"
)

// Object is the pod that an event is about.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

type source struct {
	Component string `json:"component"`
	Host      string `json:"host"`
}

type event struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Involved   Object            `json:"involvedObject"`
	Type       string            `json:"type"`
	Reason     string            `json:"reason"`
	Message    string            `json:"message"`
	Source     source            `json:"source"`
	First      time.Time         `json:"firstTimestamp"`
	Last       time.Time         `json:"lastTimestamp"`
	Count      int               `json:"count"`
}

const (
	component = "ioband-node"
	// messageMax is the length that the API server allows.
	messageMax = 1024
	// queue is how many events wait for the server; more are only in the log.
	queue = 256
	// eventPatience is how long one is tried.
	eventPatience = time.Minute
)

// Events sends events one after another, so that no container waits for the server.
type Events struct {
	client *Client
	wait   chan event
}

// NewEvents returns the sender; its Run sends.
func NewEvents(client *Client) *Events {
	return &Events{client, make(chan event, queue)}
}

// Warn queues a warning.  Its name is a hash of its text, so that no event is made
// twice, not even by a process that is started anew.
func (e *Events) Warn(namespace, name, uid, reason, message string) {
	if len(message) > messageMax {
		message = message[:messageMax]
	}
	sum := sha256.Sum256([]byte(uid + "\x00" + reason + "\x00" + message))
	now := time.Now().UTC().Truncate(time.Second)
	warning := event{
		APIVersion: "v1", Kind: "Event",
		Metadata: map[string]string{"namespace": namespace, "name": name + "." + hex.EncodeToString(sum[:8])},
		Involved: Object{"v1", "Pod", namespace, name, uid},
		Type:     "Warning", Reason: reason, Message: message,
		Source: source{component, e.client.Node}, First: now, Last: now, Count: 1,
	}
	select {
	case e.wait <- warning:
	default:
		log.Printf("cluster: too many events wait; one about pod %s/%s is left out", namespace, name)
	}
}

// Run sends the events in the queue, until the end.
func (e *Events) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-e.wait:
			e.send(ctx, next)
		}
	}
}

// send tries until the server has answered.
func (e *Events) send(ctx context.Context, next event) {
	ctx, cancel := context.WithTimeout(ctx, eventPatience)
	defer cancel()
	for {
		err := e.post(ctx, next)
		var refused *statusError
		if err == nil {
			return
		}
		if errors.As(err, &refused) && refused.Code < http.StatusInternalServerError || ctx.Err() != nil {
			log.Printf("cluster: event about pod %s/%s: %v", next.Involved.Namespace, next.Involved.Name, err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

func (e *Events) post(ctx context.Context, next event) error {
	path := fmt.Sprintf("/api/v1/namespaces/%s/events", url.PathEscape(next.Involved.Namespace))
	response, err := e.client.do(ctx, http.MethodPost, path, next)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices && response.StatusCode != http.StatusConflict {
		return failure(response)
	}
	return nil
}
