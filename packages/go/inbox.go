package cardpayments

import (
	"encoding/json"
	"fmt"
	"sort"
	"testing"
	"time"
)

// Inbox receives an account's webhooks inside the server, which verifies their signatures. Waits take whole seconds, at most 30.
type Inbox struct {
	URL string

	t       testing.TB
	account *Account
	path    string
	taken   map[string]bool
}

// Event is what a webhook reports.
type Event struct {
	Token, Type string
	CreatedAt   string `json:"created_at"`
	Data        json.RawMessage
}

// Delivery is what arrived at an inbox, and its answer.
type Delivery struct {
	// Number counts from 1.
	Number  int
	Headers map[string]string
	Body    string
	// Signature is valid, invalid or missing.
	Signature      string
	SignatureError string `json:"signature_error"`
	// Status is the HTTP status of the answer, 0 for none.
	Status int
	// Fault is hang, reset or empty.
	Fault string
}

// OpenInbox registers a receiver of webhooks inside the server. It is deleted with the account.
func (a *Account) OpenInbox() *Inbox {
	a.t.Helper()
	inbox := Inbox{t: a.t, account: a, taken: map[string]bool{}}
	var opened struct{ Token, URL string }
	inbox.request("POST", "/1/sandbox/inboxes", map[string]any{}, &opened)
	inbox.request("POST", "/1/webhook_endpoints", map[string]string{"url": opened.URL}, nil)
	inbox.URL, inbox.path = opened.URL, "/1/sandbox/inboxes/"+opened.Token
	return &inbox
}

func (i *Inbox) request(method, path string, body, record any) {
	i.t.Helper()
	if err := i.account.Request(method, path, body, record); err != nil {
		i.t.Fatal(err)
	}
}

// Answer orders the answer from the next delivery on: status, latency_ms, fault (hang or reset), every (only each nth).
func (i *Inbox) Answer(answer map[string]any) {
	i.t.Helper()
	i.request("PUT", i.path, answer, nil)
}

// Deliveries returns the last 1,000 deliveries, the oldest first, once there are so many, or after ten seconds with fewer.
func (i *Inbox) Deliveries(count int) []Delivery {
	i.t.Helper()
	return i.deliveries(count, 10*time.Second)
}

func (i *Inbox) deliveries(count int, patience time.Duration) (deliveries []Delivery) {
	i.t.Helper()
	path, wait := i.path+"/deliveries?per_page=500", ""
	if count > 0 {
		wait = fmt.Sprintf("&count=%d&wait=%d", count, (patience+time.Second-1)/time.Second)
	}
	i.request("GET", path+wait, nil, &deliveries)
	if len(deliveries) == 500 {
		var older []Delivery
		i.request("GET", path+"&page=2", nil, &older)
		for _, delivery := range older {
			if delivery.Number < deliveries[499].Number {
				deliveries = append(deliveries, delivery)
			}
		}
	}
	sort.Slice(deliveries, func(one, other int) bool { return deliveries[one].Number < deliveries[other].Number })
	return deliveries
}

// WaitFor returns the next signed event of a type, each once, and decodes its data, nil to ignore it. The test fails once nothing
// arrives for ten seconds.
func (i *Inbox) WaitFor(eventType string, data any) Event {
	i.t.Helper()
	event, types := i.next(10*time.Second, eventType)
	if event == nil {
		i.t.Fatalf("no %s within ten seconds, but %v", eventType, types)
	}
	if data != nil {
		if err := json.Unmarshal(event.Data, data); err != nil {
			i.t.Fatal(err)
		}
	}
	return *event
}

// WaitAtMost returns the next signed event of a type, each once, unless nothing arrives for so long.
func (i *Inbox) WaitAtMost(patience time.Duration, eventType string) (Event, bool) {
	i.t.Helper()
	event, _ := i.next(patience, eventType)
	if event == nil {
		return Event{}, false
	}
	return *event, true
}

// next returns the event, or the types of those that arrived.
func (i *Inbox) next(patience time.Duration, eventType string) (*Event, []string) {
	i.t.Helper()
	for count := 1; ; {
		received, types := 0, []string{}
		for _, delivery := range i.deliveries(count, patience) {
			received = delivery.Number
			if delivery.Signature != "valid" {
				continue
			}
			var event Event
			if err := json.Unmarshal([]byte(delivery.Body), &event); err != nil {
				i.t.Fatal(err)
			}
			if event.Type == eventType && !i.taken[event.Token] {
				i.taken[event.Token] = true
				return &event, nil
			}
			types = append(types, event.Type)
		}
		// The inbox keeps no more, and more cannot be waited for.
		if received < count || received >= 1000 {
			return nil, types
		}
		count = received + 1
	}
}
