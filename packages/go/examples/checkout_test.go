// The payment code of a shop, and its tests. Run it with `go test`.
package examples

import (
	"errors"
	"testing"

	"cardpayments"
)

type charge struct {
	Token  string
	Amount int
}

// pay is what a shop does: it charges a card.
func pay(account *cardpayments.Account, amount int) (paid charge, err error) {
	card := map[string]any{
		"number": "4200000000000000", "expiry_month": 12, "expiry_year": 2099, "cvc": "123", "name": "Roland Robot",
		"address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
	}
	payment := map[string]any{
		"email": "roland@example.com", "description": "Order", "amount": amount, "ip_address": "203.192.1.172", "card": card,
	}
	err = account.Request("POST", "/1/charges", payment, &paid)
	return paid, err
}

func TestAPaymentIsReportedByAWebhook(t *testing.T) {
	account := cardpayments.CreateAccount(t)
	inbox := account.OpenInbox()
	paid, err := pay(account, 400)
	if err != nil {
		t.Fatal(err)
	}
	var captured charge
	inbox.WaitFor("charge.captured", &captured)
	if captured != paid {
		t.Errorf("%v was paid, but %v was reported", paid, captured)
	}
}

func TestADeclinedCardIsNotCharged(t *testing.T) {
	account := cardpayments.CreateAccount(t)
	account.SetFaults(map[string]any{"decline": "insufficient_funds"})
	_, err := pay(account, 400)
	var declined *cardpayments.APIError
	if !errors.As(err, &declined) || declined.Code != "insufficient_funds" {
		t.Error(err)
	}
}

func TestTheMoneyOfAPaymentIsAvailableAfterSomeDays(t *testing.T) {
	account := cardpayments.CreateAccount(t)
	available := func() int {
		var balance struct{ Available []struct{ Amount int } }
		if err := account.Request("GET", "/1/balance", nil, &balance); err != nil {
			t.Fatal(err)
		}
		return balance.Available[0].Amount
	}
	before := available()
	if _, err := pay(account, 400); err != nil {
		t.Fatal(err)
	}
	if available() != before {
		t.Error("the money is available at once")
	}
	account.MoveClock("8d")
	if available() != before+363 {
		t.Errorf("%d was available, and now %d", before, available())
	}
}
