// Reads a document as oapi-codegen does, and fails if it is no OpenAPI 3.0: read.go DOCUMENT.
package main

import (
	"context"
	"log"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	document, err := openapi3.NewLoader().LoadFromFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := document.Validate(context.Background()); err != nil {
		log.Fatal(err)
	}
}
