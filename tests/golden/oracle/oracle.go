// Package oracle renders templates with Go's own text/template and Sprig, so that tests of the
// Python engine can compare with the original.
//
// Each program reads cases as JSON lines on stdin and answers each with one JSON line: sprig2 with
// Sprig v2.22.0 and all other libraries in the versions of KUDO v0.19.0, sprig3 with v3.3.0. The
// argument `bench ROUNDS` measures instead; see bench.go.
package oracle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	yaml "gopkg.in/yaml.v2"
	sigsyaml "sigs.k8s.io/yaml"
)

type testCase struct {
	Name       string          `json:"name"`
	Text       string          `json:"text"`
	Data       json.RawMessage `json:"data"`
	MissingKey string          `json:"missingkey"`
	Policy     string          `json:"policy"`
	Seconds    float64         `json:"seconds"`
}

type result struct {
	Output *string `json:"output,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// Functions that reach the machine the template is rendered on; policy "sprig" has them.
var outside = []string{
	"env", "expandenv", "base", "dir", "clean", "ext", "isAbs", "getHostByName",
	"osBase", "osClean", "osDir", "osExt", "osIsAbs",
}

// A rendering that writes more, or longer than the case says, is given up: templates may loop for
// hours.
const mostBytes = 64 << 20

// Run is the main function of a program whose templates have these functions.
func Run(sprig func() template.FuncMap) {
	if len(os.Args) > 2 && os.Args[1] == "bench" {
		bench(os.Args[2], sprig)
		return
	}
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	decoder := json.NewDecoder(bufio.NewReader(os.Stdin))
	for decoder.More() {
		var c testCase
		if err := decoder.Decode(&c); err != nil {
			fail(err)
		}
		if err := encoder.Encode(render(c, sprig())); err != nil {
			fail(err)
		}
		if err := out.Flush(); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "oracle:", err)
	os.Exit(1)
}

// withOurs adds the functions that operators have beside Sprig's.
func withOurs(functions template.FuncMap, policy string) template.FuncMap {
	if policy != "sprig" {
		for _, name := range outside {
			delete(functions, name)
		}
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return string(text), err
	}
	functions["fromYaml"] = func(text string) (interface{}, error) {
		raw, err := sigsyaml.YAMLToJSON([]byte(text))
		if err != nil {
			return nil, err
		}
		return decode(raw)
	}
	return functions
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
	missing := c.MissingKey
	if missing == "" {
		missing = "error"
	}
	parsed, err := template.New(c.Name).Option("missingkey=" + missing).
		Funcs(withOurs(functions, c.Policy)).Parse(c.Text)
	if err != nil {
		return failure(err)
	}
	out := bounded{until: time.Now().Add(time.Duration(c.Seconds * float64(time.Second)))}
	if err := parsed.Execute(&out, data); err != nil {
		return failure(err)
	}
	text := out.text.String()
	return result{Output: &text}
}

// bounded collects what a template writes until it is too much.
type bounded struct {
	text  bytes.Buffer
	until time.Time
}

func (b *bounded) Write(data []byte) (int, error) {
	if b.text.Len()+len(data) > mostBytes || time.Now().After(b.until) {
		return 0, errors.New("the oracle gave up")
	}
	return b.text.Write(data)
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
