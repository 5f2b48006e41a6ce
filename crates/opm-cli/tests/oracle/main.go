// The oracle: reads what `opm mod build -o json` printed and computes digest and change id anew,
// with nothing but Go's standard library, as RFC-0001 describes them.
package main

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

type build struct {
	Module struct {
		Path    string `json:"path"`
		Version string `json:"version"`
	} `json:"module"`
	Values    string `json:"values"`
	Resources []struct {
		Object json.RawMessage `json:"object"`
	} `json:"resources"`
}

// numbers turns every number into what Kubernetes' own decoder makes of it: an int64 where it
// fits, else a float64.
func numbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = numbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = numbers(item)
		}
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		f, err := v.Float64()
		check(err)
		return f
	}
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var printed build
	check(json.NewDecoder(os.Stdin).Decode(&printed))
	var serialized [][]byte
	for _, resource := range printed.Resources {
		decoder := json.NewDecoder(bytes.NewReader(resource.Object))
		decoder.UseNumber()
		var object map[string]any
		check(decoder.Decode(&object))
		line, err := json.Marshal(numbers(object))
		check(err)
		serialized = append(serialized, line)
	}
	sum := sha256.Sum256(bytes.Join(serialized, []byte("\n")))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	id := sha1.Sum([]byte(printed.Module.Path + printed.Module.Version + printed.Values + digest))
	fmt.Printf("%s change-sha1-%s\n", digest, hex.EncodeToString(id[:])[:8])
}
