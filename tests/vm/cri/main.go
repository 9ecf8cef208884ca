// SPDX-License-Identifier: GPL-2.0-only

// Cri is the tests' kubelet: it makes calls of the Container Runtime Interface.
//
//	cri SOCKET <CALLS
//
// CALLS is a JSON list of {"method": "RunPodSandbox", "request": {...}}, with the names of the
// interface's own definition.  They are made side by side.  The answers are printed as a JSON
// list in the same order, each {"response": {...}} or {"error": "..."}.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	service = "runtime.v1.RuntimeService"
	// So many calls are made at once, on an emulated processor.
	parallel = 8
	patience = time.Hour // the caller is less patient
)

type call struct {
	Method  string          `json:"method"`
	Request json.RawMessage `json:"request"`
}

type answer struct {
	Response json.RawMessage `json:"response,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// empty is a new message of a type of the interface.
func empty(descriptor protoreflect.MessageDescriptor) (protoreflect.ProtoMessage, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(descriptor.FullName())
	if err != nil {
		return nil, err
	}
	return kind.New().Interface(), nil
}

// do makes a call, and returns the response as JSON.
func (c call) do(ctx context.Context, conn *grpc.ClientConn) (json.RawMessage, error) {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(
		protoreflect.FullName(service + "." + c.Method))
	if err != nil {
		return nil, err
	}
	method := found.(protoreflect.MethodDescriptor)
	request, err := empty(method.Input())
	if err != nil {
		return nil, err
	}
	response, err := empty(method.Output())
	if err != nil {
		return nil, err
	}
	if err := protojson.Unmarshal(c.Request, request); err != nil {
		return nil, err
	}
	if err := conn.Invoke(ctx, "/"+service+"/"+c.Method, request, response); err != nil {
		return nil, err
	}
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(response)
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: cri SOCKET <CALLS")
	}
	var calls []call
	if err := json.NewDecoder(os.Stdin).Decode(&calls); err != nil {
		return err
	}
	conn, err := grpc.NewClient("unix://"+os.Args[1],
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answers := make([]answer, len(calls))
	free := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for i, each := range calls {
		all.Add(1)
		free <- struct{}{}
		go func() {
			defer all.Done()
			response, err := each.do(ctx, conn)
			if err != nil {
				answers[i].Error = fmt.Sprintf("%s: %v", each.Method, err)
			}
			answers[i].Response = response
			<-free
		}()
	}
	all.Wait()
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cri:", err)
		os.Exit(1)
	}
}
