package main

import (
	analytics "github.com/segmentio/analytics-go/v3"

	"sluice-clients/program"
)

type client struct{ analytics.Client }

type callback func(error)

func (ended callback) Success(analytics.Message)              { ended(nil) }
func (ended callback) Failure(_ analytics.Message, err error) { ended(err) }

func (c client) SendCalls(user string) {
	c.Enqueue(analytics.Identify{UserId: user, Traits: analytics.NewTraits().SetName("Zoë 🎈 שלום").SetEmail("ada@example.com")})
	c.Enqueue(analytics.Track{UserId: user, Event: "Order Completed ✓", Timestamp: program.At, Properties: program.Properties()})
	c.Enqueue(analytics.Page{UserId: user, Name: "Home", Properties: analytics.Properties{"path": "/"}})
	c.Enqueue(analytics.Screen{UserId: user, Name: "Start", Properties: analytics.Properties{"first": true}})
	c.Enqueue(analytics.Group{UserId: user, GroupId: "g1", Traits: analytics.Traits{"seats": 12}})
	c.Enqueue(analytics.Alias{UserId: user, PreviousId: "anon-1"})
	c.Enqueue(analytics.Track{UserId: user, Event: "Local Time", Timestamp: program.At.Local()})
}

func (c client) SendTrack(user string, properties map[string]any) error {
	return c.Enqueue(analytics.Track{UserId: user, Event: "Numbered", Properties: properties})
}

func main() {
	program.Run(func(o program.Options) program.Client {
		c, err := analytics.NewWithConfig(o.Key, analytics.Config{Endpoint: o.URL, Callback: callback(o.Ended), RetryAfter: o.RetryAfter()})
		if err != nil {
			panic(err)
		}
		return client{c}
	})
}
