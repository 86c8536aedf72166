// Reads deliveries from stdin, one a line, and says of each what the libraries say.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	svix "github.com/svix/svix-webhooks/go"
)

type delivery struct {
	Secret  string
	IsRaw   bool
	Body    string
	Headers map[string]string
}

type verifier interface {
	Verify(payload []byte, headers http.Header) error
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func verdict(isValid bool) string {
	if isValid {
		return "valid"
	}
	return "refused"
}

func accepts(v verifier, d delivery) bool {
	headers := http.Header{}
	for name, value := range d.Headers {
		headers.Set(name, value)
	}
	return v.Verify([]byte(d.Body), headers) == nil
}

func libraries(d delivery) (standard, other verifier) {
	if d.IsRaw {
		return must(standardwebhooks.NewWebhookRaw([]byte(d.Secret))), must(svix.NewWebhookRaw([]byte(d.Secret)))
	}
	return must(standardwebhooks.NewWebhook(d.Secret)), must(svix.NewWebhook(d.Secret))
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<24)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var d delivery
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			panic(err)
		}
		standard, other := libraries(d)
		byHand := isValid([]byte(d.Body), d.Headers["x-signature"], d.Secret)
		fmt.Println(verdict(accepts(standard, d)), verdict(accepts(other, d)), verdict(byHand))
	}
}
