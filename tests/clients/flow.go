// The flow of every client, by openapi-generator's Go.
package main

import (
	client "client"
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strings"
)

func holds(condition bool, said any) {
	if !condition {
		text, _ := json.Marshal(said)
		log.Panicf("%s", text)
	}
}

// What an answer holds, where it is no refusal.
func made[T any, R any](answer T, response R, err error) T {
	holds(err == nil, err)
	return answer
}

// The body of a refusal, as the client has read it.
func refused[T any](status int, err error, expected int) T {
	var refusal *client.GenericOpenAPIError
	holds(errors.As(err, &refusal) && status == expected, err)
	body, read := refusal.Model().(T)
	holds(read, string(refusal.Body()))
	return body
}

func details() *client.CardInput {
	return client.NewCardInput("4200000000000000", 5, 2030, "123", "Roland Robot", "42 Sevenoaks St", "Lathlain", "AU")
}

func chargeInput(amount int64) client.ChargeInput {
	return *client.NewChargeInput("roland@example.com", "Go", amount, "203.192.1.172")
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("SERVER")}}
	api := client.NewAPIClient(configuration)
	as := context.WithValue(context.Background(), client.ContextBasicAuth, client.BasicAuth{UserName: os.Getenv("KEY")})

	stored := client.NewBrowserCardInput("4200000000000000", 5, 2030, "123", "Roland Robot", "42 Sevenoaks St", "Lathlain", "AU")
	card := made(api.CardsAPI.CreateCard(as).BrowserCardInput(*stored).Execute()).Response
	byToken := chargeInput(400)
	byToken.SetCardToken(card.Token)
	charge := made(api.ChargesAPI.CreateCharge(as).ChargeInput(byToken).Execute()).Response
	holds(charge.GetSuccess() && charge.GetAmount() == 400, charge)
	byCard := chargeInput(500)
	byCard.SetCard(*details())
	inline := made(api.ChargesAPI.CreateCharge(as).ChargeInput(byCard).Execute()).Response
	holds(strings.HasSuffix(inline.Card.DisplayNumber, "0000"), inline)

	part := client.NewRefundInput()
	part.SetAmount(100)
	refund := made(api.RefundsAPI.CreateRefund(as, charge.Token).RefundInput(*part).Execute()).Response
	holds(refund.Charge == charge.Token && refund.Amount == 100, refund)

	page := made(api.ChargesAPI.ListCharges(as).PerPage(2).Execute())
	holds(len(page.Response) == 2 && page.Response[0].Token == inline.Token && page.Response[1].Token == charge.Token, page)

	_, response, err := api.ChargesAPI.CreateCharge(as).ChargeInput(chargeInput(400)).Execute()
	invalid := refused[client.ErrorBody](response.StatusCode, err, 422)
	holds(invalid.Error == "invalid_resource", invalid)
	much := client.NewTransferInput("Too much", 1_000_000_000_000, "AUD", "self")
	_, response, err = api.TransfersAPI.CreateTransfer(as).TransferInput(*much).Execute()
	poor := refused[[]client.ErrorBody](response.StatusCode, err, 402)
	holds(poor[0].Error == "insufficient_service_balance", poor)

	person := client.NewCustomerInput("roland@example.com")
	person.SetCard(*details())
	customer := made(api.CustomersAPI.CreateCustomer(as).CustomerInput(*person).Execute()).Response
	plan := made(api.PlansAPI.CreatePlan(as).PlanInput(*client.NewPlanInput("Go", 1000, 1, "month")).Execute()).Response
	wanted := client.NewSubscriptionInput(plan.Token, customer.Token)
	subscription := made(api.SubscriptionsAPI.CreateSubscription(as).SubscriptionInput(*wanted).Execute()).Response
	holds(subscription.State == "active", subscription)

	body, err := os.ReadFile(os.Getenv("WEBHOOK"))
	holds(err == nil, err)
	var event client.Event
	holds(json.Unmarshal(body, &event) == nil, string(body))
	token, _ := (*event.Data["token"]).(string)
	holds(event.Type == "charge.captured" && strings.HasPrefix(token, "ch_"), event)
	var captured client.ChargeCapturedEvent
	holds(json.Unmarshal(body, &captured) == nil && captured.Data.Captured, string(body))
}
