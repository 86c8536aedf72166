package main

import (
	"github.com/google/uuid"
	"github.com/posthog/posthog-go"

	"sluice-clients/program"
)

type client struct {
	posthog.Client
	isHelped bool
}

// Without one, the library sends none.
func (c client) uuid() string {
	if c.isHelped {
		return uuid.NewString()
	}
	return ""
}

type callback func(error)

func (ended callback) Success(posthog.APIMessage)              { ended(nil) }
func (ended callback) Failure(_ posthog.APIMessage, err error) { ended(err) }

func (c client) SendCalls(user string) {
	c.Enqueue(posthog.Identify{DistinctId: user, Properties: posthog.NewProperties().Set("name", "Zoë 🎈 שלום").Set("email", "ada@example.com")})
	c.Enqueue(posthog.Capture{DistinctId: user, Event: "Order Completed ✓", Timestamp: program.At, Properties: program.Properties()})
	c.Enqueue(posthog.Capture{DistinctId: user, Event: "$pageview", Properties: posthog.NewProperties().Set("$pathname", "/")})
	c.Enqueue(posthog.Capture{DistinctId: user, Event: "$screen", Properties: posthog.NewProperties().Set("$screen_name", "Start").Set("first", true)})
	c.Enqueue(posthog.GroupIdentify{Type: "company", Key: user, Properties: posthog.NewProperties().Set("seats", 12)})
	c.Enqueue(posthog.Alias{DistinctId: user, Alias: "anon-1"})
	c.Enqueue(posthog.Capture{DistinctId: user, Event: "Local Time", Timestamp: program.At.Local()})
}

func (c client) SendTrack(user string, properties map[string]any) error {
	return c.Enqueue(posthog.Capture{Uuid: c.uuid(), DistinctId: user, Event: "Numbered", Properties: properties})
}

func main() {
	program.Run(func(o program.Options) program.Client {
		c, err := posthog.NewWithConfig(o.Key, posthog.Config{Endpoint: o.URL, Callback: callback(o.Ended), RetryAfter: o.RetryAfter()})
		if err != nil {
			panic(err)
		}
		return client{c, o.IsHelped}
	})
}
