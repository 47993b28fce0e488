package cardpayments

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Inbox receives an account's webhooks on a free port of 127.0.0.1, and verifies their signatures.
type Inbox struct {
	URL string

	t       testing.TB
	mutex   sync.Mutex
	key     []byte
	events  []Event
	ids     map[string]bool
	taken   map[string]bool
	changed chan struct{}
}

// Event is what a webhook reports.
type Event struct {
	Token, Type string
	CreatedAt   string `json:"created_at"`
	Data        json.RawMessage
}

// OpenInbox registers a receiver of webhooks on this machine. It is closed when the test ends.
func (a *Account) OpenInbox() *Inbox {
	a.t.Helper()
	inbox := &Inbox{t: a.t, ids: map[string]bool{}, taken: map[string]bool{}, changed: make(chan struct{})}
	// What arrives meanwhile waits for the key.
	inbox.mutex.Lock()
	defer inbox.mutex.Unlock()
	server := httptest.NewServer(http.HandlerFunc(inbox.receive))
	a.t.Cleanup(server.Close)
	inbox.URL = server.URL + "/"
	var endpoint struct{ Key string }
	if err := a.Request("POST", "/1/webhook_endpoints", map[string]string{"url": inbox.URL}, &endpoint); err != nil {
		a.t.Fatal(err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(endpoint.Key, "whsec_"))
	if err != nil {
		a.t.Fatal(err)
	}
	inbox.key = key
	return inbox
}

// Events returns all events so far, in the order of their arrival.
func (i *Inbox) Events() []Event {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return append([]Event(nil), i.events...)
}

// WaitFor returns the next event of a type, each event once, and decodes its data, nil to ignore it. The test fails if none
// arrives in ten seconds.
func (i *Inbox) WaitFor(eventType string, data any) Event {
	i.t.Helper()
	event, ok := i.WaitAtMost(10*time.Second, eventType)
	if !ok {
		types := make([]string, 0)
		for _, event := range i.Events() {
			types = append(types, event.Type)
		}
		i.t.Fatalf("no %s within ten seconds, but %v", eventType, types)
	}
	if data != nil {
		if err := json.Unmarshal(event.Data, data); err != nil {
			i.t.Fatal(err)
		}
	}
	return event
}

// WaitAtMost returns the next event of a type, each event once, if one arrives in time.
func (i *Inbox) WaitAtMost(patience time.Duration, eventType string) (Event, bool) {
	late := time.After(patience)
	for {
		event, ok, changed := i.take(eventType)
		if ok {
			return event, true
		}
		select {
		case <-changed:
		case <-late:
			return Event{}, false
		}
	}
}

// take returns the next event of a type, and a channel that is closed when another one arrives.
func (i *Inbox) take(eventType string) (Event, bool, <-chan struct{}) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for _, event := range i.events {
		if event.Type == eventType && !i.taken[event.Token] {
			i.taken[event.Token] = true
			return event, true, i.changed
		}
	}
	return Event{}, false, i.changed
}

func (i *Inbox) receive(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	i.mutex.Lock()
	defer i.mutex.Unlock()
	var event Event
	if err != nil || !i.isSigned(request.Header, body) || json.Unmarshal(body, &event) != nil {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	// A repeated delivery is no second event.
	if id := request.Header.Get("webhook-id"); !i.ids[id] {
		i.ids[id] = true
		i.events = append(i.events, event)
		close(i.changed)
		i.changed = make(chan struct{})
	}
	response.WriteHeader(http.StatusNoContent)
}

func (i *Inbox) isSigned(header http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, i.key)
	mac.Write([]byte(header.Get("webhook-id") + "." + header.Get("webhook-timestamp") + "."))
	mac.Write(body)
	signature := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, known := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(known), signature) {
			return true
		}
	}
	return false
}
