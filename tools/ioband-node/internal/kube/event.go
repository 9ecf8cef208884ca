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
	"strings"
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
	// nameMax is the length of the name of an object, as of a pod.
	nameMax  = 253
	hashSize = 8
	// queue is how many events wait for the server.
	queue = 256
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

// Warn queues a warning, or returns false as the queue is full.  Its name has a hash of its text, so
// that no event is made twice, not even by a process that is started anew.
func (e *Events) Warn(namespace, name, uid, reason, message string) bool {
	if len(message) > messageMax {
		message = message[:messageMax]
	}
	short := strings.TrimRight(name[:min(len(name), nameMax-1-2*hashSize)], "-.")
	sum := sha256.Sum256([]byte(uid + "\x00" + reason + "\x00" + message))
	now := time.Now().UTC().Truncate(time.Second)
	warning := event{
		APIVersion: "v1", Kind: "Event",
		Metadata: map[string]string{"namespace": namespace, "name": short + "." + hex.EncodeToString(sum[:hashSize])},
		Involved: Object{"v1", "Pod", namespace, name, uid},
		Type:     "Warning", Reason: reason, Message: message,
		Source: source{component, e.client.Node}, First: now, Last: now, Count: 1,
	}
	select {
	case e.wait <- warning:
		return true
	default:
		return false
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

// send tries until the server has taken or refused the event, however long it is away.  The queue
// bounds how many events wait.
func (e *Events) send(ctx context.Context, next event) {
	said := ""
	for ctx.Err() == nil {
		err := e.post(ctx, next)
		if err == nil || ctx.Err() != nil {
			return
		}
		if err.Error() != said {
			said = err.Error()
			log.Printf("cluster: event about pod %s/%s: %s", next.Involved.Namespace, next.Involved.Name, said)
		}
		var refused *statusError
		if errors.As(err, &refused) && refused.isFinal() {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// isFinal is false where another attempt may be taken: the server has too much to do, or the
// kubelet is about to renew the token.
func (e *statusError) isFinal() bool {
	return e.Code < http.StatusInternalServerError &&
		e.Code != http.StatusTooManyRequests && e.Code != http.StatusUnauthorized
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
