package oracle

import (
	"encoding/json"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"text/template"
	"time"
)

type timing struct {
	Compile float64 `json:"compile"`
	Render  float64 `json:"render"`
}

// bench reads one JSON list of cases and writes for each the seconds of CPU that compiling and
// rendering take: those of one call in the fastest of some batches of `rounds` calls.
func bench(rounds string, sprig func() template.FuncMap) {
	runtime.GOMAXPROCS(1)
	count, err := strconv.Atoi(rounds)
	if err != nil {
		fail(err)
	}
	var cases []testCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		fail(err)
	}
	timings := make([]timing, 0, len(cases))
	for _, c := range cases {
		timings = append(timings, measure(c, count, sprig()))
	}
	if err := json.NewEncoder(os.Stdout).Encode(timings); err != nil {
		fail(err)
	}
}

func measure(c testCase, rounds int, functions template.FuncMap) timing {
	functions = withOurs(functions, c.Policy)
	data, err := decode(c.Data)
	if err != nil {
		fail(err)
	}
	// The functions are looked up once, as an environment of ours does.
	base := template.New("").Option("missingkey=error").Funcs(functions)
	compile := func() *template.Template {
		return template.Must(base.New(c.Name).Parse(c.Text))
	}
	parsed := compile()
	return timing{
		Compile: best(rounds, func() { compile() }),
		Render: best(rounds, func() {
			if err := parsed.Execute(io.Discard, data); err != nil {
				fail(err)
			}
		}),
	}
}

// best gives the seconds of CPU of one call, in the fastest of five batches.
func best(rounds int, call func()) float64 {
	fastest := time.Hour
	for batch := 0; batch < 5; batch++ {
		began := cpu()
		for i := 0; i < rounds; i++ {
			call()
		}
		fastest = min(fastest, cpu()-began)
	}
	return fastest.Seconds() / float64(rounds)
}

// cpu gives the CPU time of the process, which does not count while others have the machine.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
