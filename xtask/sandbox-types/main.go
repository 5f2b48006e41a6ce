// Prints, for every Go struct behind the built-in kinds, how each JSON field is
// encoded when it holds its zero value. The OpenAPI document does not say this,
// yet it decides what the API server stores and answers.
//
//	p  a pointer, dropped only when nil
//	z  dropped when zero or empty
//	n  always written, null when absent
//	r  always written, as a zero value when absent
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var seen = map[string]map[string]string{}

func name(t reflect.Type) string {
	pkg := strings.TrimPrefix(t.PkgPath(), "k8s.io/")
	return "io.k8s." + strings.ReplaceAll(pkg, "/", ".") + "." + t.Name()
}

func walk(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		walk(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return
	}
	key := name(t)
	if _, ok := seen[key]; ok {
		return
	}
	seen[key] = map[string]string{}
	fields(t, seen[key])
}

func fields(t reflect.Type, out map[string]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		parts := strings.Split(tag, ",")
		if f.Anonymous && (parts[0] == "") {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			if embedded.Kind() == reflect.Struct {
				fields(embedded, out)
			}
			continue
		}
		if !ok || parts[0] == "-" || parts[0] == "" {
			continue
		}
		out[parts[0]] = flag(f.Type, parts[1:])
		walk(f.Type)
	}
}

func flag(t reflect.Type, options []string) string {
	omitEmpty, omitZero := false, false
	for _, o := range options {
		omitEmpty = omitEmpty || o == "omitempty"
		omitZero = omitZero || o == "omitzero"
	}
	switch {
	case t.Kind() == reflect.Pointer && (omitEmpty || omitZero):
		return "p"
	case omitZero:
		return "z"
	case omitEmpty && t.Kind() != reflect.Struct:
		return "z"
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return "n"
	}
	return "r"
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistration.AddToScheme, apps.AddToScheme, autoscalingv1.AddToScheme,
		autoscaling.AddToScheme, batch.AddToScheme, certificates.AddToScheme,
		coordination.AddToScheme, core.AddToScheme, discovery.AddToScheme, events.AddToScheme,
		networking.AddToScheme, node.AddToScheme, policy.AddToScheme, rbac.AddToScheme,
		scheduling.AddToScheme, storage.AddToScheme, apiextensions.AddToScheme,
		apiregistration.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	for _, t := range scheme.AllKnownTypes() {
		walk(t)
	}
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		panic(err)
	}
}
