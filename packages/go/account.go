package cardpayments

import "testing"

// Account is an account that nothing else uses.
type Account struct {
	URL            string `json:"-"`
	Token          string `json:"token"`
	SecretKey      string `json:"secret_key"`
	PublishableKey string `json:"publishable_key"`

	t testing.TB
}

// RanItem is due work that a move of the clock did.
type RanItem struct{ At, What, Token string }

// Request sends JSON, nil for no body, and decodes the record of the response, nil to ignore it. A refusal is an *APIError.
func (a *Account) Request(method, path string, body, record any) error {
	return request(a.URL, a.SecretKey, method, path, body, record)
}

// MoveClock moves the account's clock ahead by a span such as "7d", and returns all that was due on the way.
func (a *Account) MoveClock(span string) []RanItem {
	a.t.Helper()
	return a.moveClock(map[string]string{"advance": span})
}

// MoveClockTo moves the account's clock ahead to a time such as "2030-01-01", and returns all that was due on the way.
func (a *Account) MoveClockTo(time string) []RanItem {
	a.t.Helper()
	return a.moveClock(map[string]string{"to": time})
}

func (a *Account) moveClock(move map[string]string) (ran []RanItem) {
	a.t.Helper()
	for {
		var moved struct {
			Ran      []RanItem
			Complete bool
			To       string
		}
		if err := a.Request("PUT", "/1/sandbox/clock", move, &moved); err != nil {
			a.t.Fatal(err)
		}
		ran = append(ran, moved.Ran...)
		if moved.Complete {
			return ran
		}
		move = map[string]string{"to": moved.To}
	}
}

// SetFaults orders faults of the acquirer: decline, latency_ms, gateway_error_rate, drop_rate, seed.
func (a *Account) SetFaults(faults map[string]any) {
	a.t.Helper()
	if err := a.Request("PUT", "/1/sandbox/acquirer", faults, nil); err != nil {
		a.t.Fatal(err)
	}
}
