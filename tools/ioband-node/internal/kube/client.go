// SPDX-License-Identifier: GPL-2.0-only

// Package kube watches the pods of this node in the cluster, and tells their users what
// went wrong, as events.  It asks for nothing else: list and watch pods, create events.
package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// account is where the kubelet puts the service account of the pod.
const account = "/var/run/secrets/kubernetes.io/serviceaccount"

// pingPeriod is the time without traffic after which a connection is tried.
const pingPeriod = 15 * time.Second

// The steps of a request have their own bounds.  A bound of the whole would cut watches, of which
// the server sends the header at once.
const (
	dialPatience   = 10 * time.Second
	tlsPatience    = 10 * time.Second
	headerPatience = 30 * time.Second
)

// Client speaks to the API server.
type Client struct {
	// URL of the server, without a slash at its end.
	URL string
	// Node is the name of this node.
	Node string
	// token is the file with the token, which the kubelet renews; "" for none.
	token string
	http  *http.Client
}

// New returns a client without a token, for an API server that is behind a proxy or a test.
func New(address, node string) *Client {
	return &Client{URL: strings.TrimSuffix(address, "/"), Node: node, http: &http.Client{Transport: transport(nil)}}
}

func transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialPatience, KeepAlive: pingPeriod}).DialContext,
		TLSHandshakeTimeout:   tlsPatience,
		ResponseHeaderTimeout: headerPatience,
		IdleConnTimeout:       time.Minute,
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		// A watch is quiet for long; without pings it would outlast the server.
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingPeriod, PingTimeout: pingPeriod},
	}
}

// InCluster returns the client of a pod, with its service account.
func InCluster(node string) (*Client, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, fmt.Errorf("this is no pod of a cluster: give --kube-url or --no-kube")
	}
	ca, err := os.ReadFile(filepath.Join(account, "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s/ca.crt has no certificate", account)
	}
	client := New("https://"+net.JoinHostPort(host, port), node)
	client.token = filepath.Join(account, "token")
	client.http.Transport = transport(pool)
	return client, nil
}

// do sends a request; the caller closes the body.
func (c *Client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		text = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, text)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		token, err := os.ReadFile(c.token)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	return c.http.Do(request)
}

// statusError is what the server refused.
type statusError struct {
	Code    int
	Message string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the API server answered %d: %s", e.Code, e.Message)
}

func failure(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &status) != nil || status.Message == "" {
		status.Message = strings.TrimSpace(string(text))
	}
	return &statusError{response.StatusCode, status.Message}
}

func (c *Client) podsPath(more url.Values) string {
	query := url.Values{"fieldSelector": {"spec.nodeName=" + c.Node}}
	for key, values := range more {
		query[key] = values
	}
	return "/api/v1/pods?" + query.Encode()
}
