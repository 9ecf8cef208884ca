// SPDX-License-Identifier: GPL-2.0-only

// Render prints the objects of a kustomization as a JSON list, as kubectl apply -k sends them.
//
//	render DIRECTORY
//
// Each object is read as Kubernetes' own type.  A field that the type does not have is an error.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	rbac "k8s.io/api/rbac/v1"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// types are those of the manifests, by version and kind.
var types = map[string]func() any{
	"v1/Namespace":      func() any { return &core.Namespace{} },
	"v1/Pod":            func() any { return &core.Pod{} },
	"v1/ServiceAccount": func() any { return &core.ServiceAccount{} },
	"v1/ConfigMap":      func() any { return &core.ConfigMap{} },
	"apps/v1/DaemonSet": func() any { return &apps.DaemonSet{} },
	"rbac.authorization.k8s.io/v1/ClusterRole":        func() any { return &rbac.ClusterRole{} },
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding": func() any { return &rbac.ClusterRoleBinding{} },
	"networking.k8s.io/v1/NetworkPolicy":              func() any { return &networking.NetworkPolicy{} },
}

func read(object *resource.Resource) (any, error) {
	kind := object.GetApiVersion() + "/" + object.GetKind()
	empty, found := types[kind]
	if !found {
		return nil, fmt.Errorf("%s is not expected here", kind)
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	into := empty()
	unknown, err := strict.UnmarshalStrict(text, into)
	if err = errors.Join(append(unknown, err)...); err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind, object.GetName(), err)
	}
	return into, nil
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: render DIRECTORY")
	}
	kustomizer := krusty.MakeKustomizer(krusty.MakeDefaultOptions())
	objects, err := kustomizer.Run(filesys.MakeFsOnDisk(), os.Args[1])
	if err != nil {
		return err
	}
	var list []any
	for _, object := range objects.Resources() {
		one, err := read(object)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	return json.NewEncoder(os.Stdout).Encode(list)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}
