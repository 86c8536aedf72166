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
	// SendCalls sends as many messages as Calls says.
	SendCalls(user string)
	SendTrack(user string, properties map[string]any) error
	Close() error
}

// Calls is how many messages SendCalls sends.
const Calls = 7

// Options of a client. Ended is called when a message is delivered, or given up with an error.
type Options struct {
	URL, Key string
	IsHelped bool
	Ended    func(error)
}

// RetryAfter of a helped client: longer than the collector says, and as long each time.
func (o Options) RetryAfter() func(int) time.Duration {
	if !o.IsHelped {
		return nil
	}
	return func(int) time.Duration { return 3 * time.Second }
}

func say(words ...string) {
	fmt.Println(strings.ReplaceAll(strings.Join(words, " "), "\n", " "))
}

type running struct {
	Client
	name     string
	isHelped bool
	// The messages that have not ended.
	pending sync.WaitGroup
}

func (c *running) ended(err error) {
	if err != nil {
		say("failed", c.name, err.Error())
	}
	c.pending.Done()
}

func (c *running) sendMany(user string, count, size int) {
	for n := 0; n < count; n++ {
		c.pending.Add(1)
		if err := c.SendTrack(user, map[string]any{"n": n, "fill": strings.Repeat("x", size)}); err != nil {
			c.ended(err)
		}
	}
}

// Helped clients are closed when all their messages have ended.
func (c *running) close() {
	if c.isHelped {
		c.pending.Wait()
	}
	c.Close()
	say("closed", c.name)
}

func Run(create func(Options) Client) {
	clients := map[string]*running{}
	var closing sync.WaitGroup
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		client := clients[words[1]]
		switch words[0] {
		case "open":
			client = &running{name: words[1], isHelped: words[4] == "helped"}
			client.Client = create(Options{URL: words[2], Key: words[3], IsHelped: client.isHelped, Ended: client.ended})
			clients[client.name] = client
		case "calls":
			client.pending.Add(Calls)
			client.SendCalls(words[2])
		case "many":
			count, _ := strconv.Atoi(words[3])
			size, _ := strconv.Atoi(words[4])
			client.sendMany(words[2], count, size)
		case "close":
			closing.Add(1)
			go func() {
				defer closing.Done()
				client.close()
			}()
		}
	}
	closing.Wait()
}
