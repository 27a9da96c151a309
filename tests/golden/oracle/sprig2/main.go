// Command sprig2 is the oracle with Sprig v2.22.0. Its go.mod has the versions of libraries that the
// go.mod of KUDO v0.19.0 selects.
package main

import (
	"oracle"

	"github.com/Masterminds/sprig"
)

func main() {
	oracle.Run(sprig.TxtFuncMap)
}
