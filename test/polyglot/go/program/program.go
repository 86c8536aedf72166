// Package program drives a client by commands on stdin, one a line. What the client reports goes to stdout.
package program

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// At is the time of the calls that have one. Its zone is not the machine's.
var At = time.Date(2020, 2, 29, 12, 34, 56, 789_000_000, time.FixedZone("", 5*3600+1800))

// Properties of the call that has a value of each kind.
func Properties() map[string]any {
	return map[string]any{
		"total":    129.95,
		"decimal":  json.Number("0.1"),
		"count":    3,
		"big":      uint64(18446744073709551615),
		"negative": int64(-9007199254740993),
		"isPaid":   true,
		"items":    []any{"a", map[string]string{"sku": "b"}},
		"text":     "quotes \" \\ and \u2028 \u0001",
		"due":      At,
	}
}

type Client interface {
	SendCalls(user string)
	SendTrack(user string, properties map[string]any) error
	Close() error
}

func say(words ...string) {
	fmt.Println(strings.ReplaceAll(strings.Join(words, " "), "\n", " "))
}

func Run(create func(url, key string, report func(error)) Client) {
	clients := map[string]Client{}
	var closing sync.WaitGroup
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		name := words[1]
		switch words[0] {
		case "open":
			clients[name] = create(words[2], words[3], func(err error) { say("failed", name, err.Error()) })
		case "calls":
			clients[name].SendCalls(words[2])
		case "many":
			count, _ := strconv.Atoi(words[3])
			size, _ := strconv.Atoi(words[4])
			for n := 0; n < count; n++ {
				if err := clients[name].SendTrack(words[2], map[string]any{"n": n, "fill": strings.Repeat("x", size)}); err != nil {
					say("failed", name, err.Error())
				}
			}
		case "close":
			closing.Add(1)
			go func() {
				defer closing.Done()
				clients[name].Close()
				say("closed", name)
			}()
		}
	}
	closing.Wait()
}
