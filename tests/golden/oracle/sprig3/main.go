// Command sprig3 is the oracle with Sprig v3.3.0.
package main

import (
	"oracle"

	"github.com/Masterminds/sprig/v3"
)

func main() {
	oracle.Run(sprig.TxtFuncMap)
}
