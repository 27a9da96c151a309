// Command oracle renders templates with Go's own text/template and Sprig, so that tests of the
// Python engine can compare with the original.
//
// It reads a JSON list of cases on stdin and writes a JSON list of results in the same order.
// Every case is rendered twice: with Sprig v2.22.0, the version of the original, and with v3.3.0.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"

	sprigv2 "github.com/Masterminds/sprig"
	sprigv3 "github.com/Masterminds/sprig/v3"
	yaml "gopkg.in/yaml.v2"
)

type testCase struct {
	Name       string          `json:"name"`
	Text       string          `json:"text"`
	Data       json.RawMessage `json:"data"`
	MissingKey string          `json:"missingkey"`
}

type result struct {
	Output *string `json:"output,omitempty"`
	Error  *string `json:"error,omitempty"`
}

type results struct {
	V2 result `json:"v2"`
	V3 result `json:"v3"`
}

// Functions that reach the machine the template is rendered on.
var outside = []string{"env", "expandenv", "base", "dir", "clean", "ext", "isAbs", "getHostByName"}

func main() {
	var cases []testCase
	decoder := json.NewDecoder(os.Stdin)
	if err := decoder.Decode(&cases); err != nil {
		fail(err)
	}
	all := make([]results, 0, len(cases))
	for _, c := range cases {
		all = append(all, results{
			V2: render(c, sprigv2.TxtFuncMap()),
			V3: render(c, sprigv3.TxtFuncMap()),
		})
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(all); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "oracle:", err)
	os.Exit(1)
}

func render(c testCase, functions template.FuncMap) (r result) {
	defer func() {
		if problem := recover(); problem != nil {
			r = failure(fmt.Errorf("panic: %v", problem))
		}
	}()
	data, err := decode(c.Data)
	if err != nil {
		fail(fmt.Errorf("case %s: %w", c.Name, err))
	}
	for _, name := range outside {
		delete(functions, name)
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return string(text), err
	}
	missing := c.MissingKey
	if missing == "" {
		missing = "error"
	}
	parsed, err := template.New(c.Name).Option("missingkey=" + missing).Funcs(functions).Parse(c.Text)
	if err != nil {
		return failure(err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return failure(err)
	}
	text := out.String()
	return result{Output: &text}
}

func failure(err error) result {
	text := err.Error()
	return result{Error: &text}
}

func decode(raw json.RawMessage) (interface{}, error) {
	if len(raw) == 0 {
		return map[string]interface{}{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value interface{}
	err := decoder.Decode(&value)
	return typed(value), err
}

// typed turns numbers into what the data model of the Python engine says: an integral number is an
// int, any other a float64.
func typed(value interface{}) interface{} {
	switch v := value.(type) {
	case map[string]interface{}:
		for key, inner := range v {
			v[key] = typed(inner)
		}
	case []interface{}:
		for i, inner := range v {
			v[i] = typed(inner)
		}
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") {
			if number, err := v.Int64(); err == nil {
				return int(number)
			}
		}
		number, _ := v.Float64()
		return number
	}
	return value
}
