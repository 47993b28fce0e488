// The client against a real server: see packages/clients/beside.py.
package cardpaymentsclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"cardpaymentsclient"
)

var (
	ctx    = context.Background()
	client = cardpaymentsclient.Connect(os.Getenv("SERVER"), os.Getenv("KEY"))
)

func must[T any](t *testing.T) func(T, *http.Response, error) T {
	return func(record T, response *http.Response, err error) T {
		t.Helper()
		record, err = cardpaymentsclient.Result(record, response, err)
		if err != nil {
			t.Fatal(err)
		}
		return record
	}
}

func order(amount int64) cardpaymentsclient.ChargeInput {
	order := cardpaymentsclient.NewChargeInput("roland@example.com", "Order", amount, "203.192.1.172")
	order.SetCard(*cardpaymentsclient.NewCardInput("4200000000000000", 12, 2099, "123", "Roland Robot", "42 Sevenoaks St", "Lathlain", "AU"))
	return *order
}

// charge makes a payment, and returns its token.
func charge(t *testing.T, client *cardpaymentsclient.APIClient, amount int64) string {
	t.Helper()
	return must[*cardpaymentsclient.ChargeMadeResponse](t)(client.ChargesAPI.CreateCharge(ctx).ChargeInput(order(amount)).Execute()).Response.Token
}

// charges returns the tokens of the successful charges, newest first.
func charges(t *testing.T) []string {
	t.Helper()
	tokens := []string{}
	list := cardpaymentsclient.Items[cardpaymentsclient.Charge](func(number int64) (*cardpaymentsclient.ChargePage, *http.Response, error) {
		return client.ChargesAPI.ListCharges(ctx).PerPage(2).Page(number).Execute()
	})
	for list.Next() {
		if charge := list.Item(); charge.Success {
			tokens = append(tokens, charge.Token)
		}
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	return tokens
}

func same(t *testing.T, found, expected any) {
	t.Helper()
	if !reflect.DeepEqual(found, expected) {
		t.Fatalf("%v is not %v", found, expected)
	}
}

func TestACardIsStoredChargedCapturedAndRefunded(t *testing.T) {
	stored := cardpaymentsclient.NewBrowserCardInput("4200000000000000", 12, 2099, "123", "Roland Robot", "42 Sevenoaks St", "Lathlain", "AU")
	card := must[*cardpaymentsclient.CardResponseWithIp](t)(client.CardsAPI.CreateCard(ctx).BrowserCardInput(*stored).Execute()).Response
	order := cardpaymentsclient.NewChargeInput("roland@example.com", "Order", 400, "203.192.1.172")
	order.SetCardToken(card.Token)
	order.SetCapture(false)
	charge := must[*cardpaymentsclient.ChargeMadeResponse](t)(client.ChargesAPI.CreateCharge(ctx).ChargeInput(*order).Execute()).Response
	same(t, charge.GetCaptured(), false)
	captured := must[*cardpaymentsclient.ChargeResponse](t)(client.ChargesAPI.CaptureCharge(ctx, charge.Token).Execute()).Response
	same(t, captured.Captured, true)
	part := cardpaymentsclient.NewRefundInput()
	part.SetAmount(100)
	refund := must[*cardpaymentsclient.RefundResponse](t)(client.RefundsAPI.CreateRefund(ctx, charge.Token).RefundInput(*part).Execute()).Response
	same(t, []any{refund.Charge, refund.Amount}, []any{charge.Token, int64(100)})
}

func TestAListGivesTheItemsOfAllPages(t *testing.T) {
	before := charges(t)
	first, second, third := charge(t, client, 100), charge(t, client, 200), charge(t, client, 300)
	same(t, charges(t), append([]string{third, second, first}, before...))
	plan := cardpaymentsclient.NewPlanInput("One", 1000, 1, "month")
	must[*cardpaymentsclient.PlanResponse](t)(client.PlansAPI.CreatePlan(ctx).PlanInput(*plan).Execute())
	short := cardpaymentsclient.Items[cardpaymentsclient.Plan](func(number int64) (*cardpaymentsclient.PlanShortPage, *http.Response, error) {
		return client.PlansAPI.ListPlans(ctx).Page(number).Execute()
	})
	same(t, []any{short.Next(), short.Item().Name, short.Next(), short.Err()}, []any{true, "One", false, nil})
}

func TestAChargeWhoseConnectionIsCutIsMadeOnce(t *testing.T) {
	before := charges(t)
	token := charge(t, cardpaymentsclient.Connect(os.Getenv("CUT"), os.Getenv("KEY")), 400)
	same(t, charges(t), append([]string{token}, before...))
}

func TestAChargeWithoutAResponseIsRepeatedUnderTheKeyOfItsError(t *testing.T) {
	before := charges(t)
	cut := cardpaymentsclient.Connect(os.Getenv("LOST"), os.Getenv("KEY"))
	_, err := cardpaymentsclient.Result(cut.ChargesAPI.CreateCharge(ctx).ChargeInput(order(400)).Execute())
	var lost *cardpaymentsclient.NoResponseError
	if !errors.As(err, &lost) {
		t.Fatal(err)
	}
	request := client.ChargesAPI.CreateCharge(ctx).ChargeInput(order(400)).IdempotencyKey(lost.IdempotencyKey)
	charge := must[*cardpaymentsclient.ChargeMadeResponse](t)(request.Execute()).Response
	same(t, charges(t), append([]string{charge.Token}, before...))
}

func TestAChargeThatWasApprovedButLostIsMadeOnce(t *testing.T) {
	before := charges(t)
	request := client.ChargesAPI.CreateCharge(ctx).ChargeInput(order(400)).IdempotencyKey("lost")
	_, err := cardpaymentsclient.Result(request.SandboxOutcome("approved_but_lost").Execute())
	var lost *cardpaymentsclient.Error
	if !errors.As(err, &lost) || !errors.Is(err, cardpaymentsclient.ErrServer) || lost.Code != "gateway_error" {
		t.Fatal(err)
	}
	same(t, lost.IdempotencyKey, "lost")
	paid := must[*cardpaymentsclient.ChargeMadeResponse](t)(request.Execute()).Response
	again := must[*cardpaymentsclient.ChargeMadeResponse](t)(request.Execute()).Response
	same(t, again.Token, paid.Token)
	same(t, charges(t), append([]string{paid.Token}, before...))
}

func TestARefusalIsAnErrorOfItsOwn(t *testing.T) {
	request := client.ChargesAPI.CreateCharge(ctx).ChargeInput(order(400))
	_, err := cardpaymentsclient.Result(request.SandboxOutcome("insufficient_funds").Execute())
	var refusal *cardpaymentsclient.Error
	if !errors.As(err, &refusal) || !errors.Is(err, cardpaymentsclient.ErrCardDeclined) || errors.Is(err, cardpaymentsclient.ErrServer) {
		t.Fatal(err)
	}
	same(t, []any{refusal.Status, refusal.Code}, []any{400, "insufficient_funds"})
	if refusal.RequestID == "" || !strings.HasPrefix(refusal.ChargeToken, "ch_") {
		t.Fatal(refusal)
	}
	_, err = cardpaymentsclient.Result(client.ChargesAPI.CreateCharge(ctx).ChargeInput(order(0)).Execute())
	if !errors.As(err, &refusal) || !errors.Is(err, cardpaymentsclient.ErrInvalidResource) || refusal.Messages[0].Param != "amount" {
		t.Fatal(err)
	}
	nameless := cardpaymentsclient.NewPlanInput(" ", 400, 1, "month")
	_, err = cardpaymentsclient.Result(client.PlansAPI.CreatePlan(ctx).PlanInput(*nameless).Execute())
	if !errors.Is(err, cardpaymentsclient.ErrInvalidResource) {
		t.Fatal(err)
	}
	_, err = cardpaymentsclient.Result(client.ChargesAPI.GetCharge(ctx, "ch_AAAAAAAAAAAAAAAAAAAAAA").Execute())
	if !errors.Is(err, cardpaymentsclient.ErrNotFound) {
		t.Fatal(err)
	}
	stranger := cardpaymentsclient.Connect(os.Getenv("SERVER"), "sk_test_nobody")
	err = cardpaymentsclient.Done(stranger.CustomersAPI.DeleteCustomer(ctx, "cus_none").Execute())
	if !errors.Is(err, cardpaymentsclient.ErrUnauthorized) {
		t.Fatal(err)
	}
}

func TestARequestEndsWithItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := client.ChargesAPI.ListCharges(ended).Execute(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestAWebhookIsVerified(t *testing.T) {
	text, err := os.ReadFile(os.Getenv("WEBHOOK"))
	if err != nil {
		t.Fatal(err)
	}
	type sent struct {
		Headers map[string]string
		Body    string
	}
	var webhook struct {
		sent
		Key    string
		Events []sent
		Newer  sent
	}
	if err := json.Unmarshal(text, &webhook); err != nil {
		t.Fatal(err)
	}
	headers := func(all ...map[string]string) http.Header {
		header := http.Header{}
		for _, changes := range all {
			for name, value := range changes {
				header.Set(name, value)
			}
		}
		return header
	}
	header := func(changes map[string]string) http.Header { return headers(webhook.Headers, changes) }
	event, err := cardpaymentsclient.VerifyWebhook(header(nil), []byte(webhook.Body), webhook.Key)
	if captured, ok := event.(*cardpaymentsclient.ChargeCapturedEvent); !ok || !strings.HasPrefix(captured.Data.Token, "ch_") {
		t.Fatal(event, err)
	}
	for _, sent := range webhook.Events {
		known, err := cardpaymentsclient.VerifyWebhook(headers(sent.Headers), []byte(sent.Body), webhook.Key)
		if _, newer := known.(*cardpaymentsclient.Event); newer || err != nil || known.GetToken() == "" {
			t.Error(known, err)
		}
	}
	newer, err := cardpaymentsclient.VerifyWebhook(headers(webhook.Newer.Headers), []byte(webhook.Newer.Body), webhook.Key)
	if _, ok := newer.(*cardpaymentsclient.Event); !ok || newer.GetType() != "charge.of_tomorrow" {
		t.Error(newer, err)
	}
	const other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	example := map[string]string{
		"webhook-id":        "msg_p5jXN8AQM9LWM0D4loKWxJek",
		"webhook-timestamp": "1614265330",
		"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	}
	at, _ := strconv.Atoi(webhook.Headers["webhook-timestamp"])
	later := map[string]string{"webhook-timestamp": strconv.Itoa(at + 1)}
	for _, refused := range []struct {
		header            http.Header
		body, key, reason string
	}{
		{header(nil), webhook.Body, other, "does not fit"},
		{header(nil), strings.Replace(webhook.Body, "400", "4000", 1), webhook.Key, "does not fit"},
		{header(later), webhook.Body, webhook.Key, "does not fit"},
		{header(example), `{"test": 2432232314}`, other, "too old"},
		{http.Header{}, webhook.Body, webhook.Key, "headers"},
		{header(nil), webhook.Body, "whsec_", "none of an endpoint"},
		{header(nil), webhook.Body, "", "none of an endpoint"},
	} {
		_, err := cardpaymentsclient.VerifyWebhook(refused.header, []byte(refused.body), refused.key)
		if !errors.Is(err, cardpaymentsclient.ErrWebhookRefused) || !strings.Contains(err.Error(), refused.reason) {
			t.Error(err, refused.reason)
		}
	}
}
