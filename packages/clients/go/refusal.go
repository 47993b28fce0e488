package cardpaymentsclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// What an Error is: errors.Is(err, ErrCardDeclined).
var (
	// ErrCardDeclined is a declined card; nothing was charged.
	ErrCardDeclined = errors.New("the card was declined")
	// ErrInvalidResource is for missing or invalid parameters; Messages has each.
	ErrInvalidResource = errors.New("parameters are missing or invalid")
	// ErrUnauthorized is for a key that is none of the account.
	ErrUnauthorized = errors.New("the key is not valid")
	// ErrNotFound is for a record that is not there.
	ErrNotFound = errors.New("there is no such record")
	// ErrConflict is for another request that is still in flight.
	ErrConflict = errors.New("another request is in flight")
	// ErrRateLimited is for too many requests.
	ErrRateLimited = errors.New("there were too many requests")
	// ErrServer is for a server or an acquirer that failed, and went on to: repeat the request later, under the error's IdempotencyKey.
	ErrServer = errors.New("the server failed")
)

// Error says what the server refused.
type Error struct {
	// Status is the status of the response.
	Status int
	// RequestID is its X-Request-Id.
	RequestID string
	// IdempotencyKey is the key that was sent, "" if the request changes nothing.
	IdempotencyKey string
	// Code is the error code; docs/errors.md lists them.
	Code string `json:"error"`
	// Description is the sentence of the code.
	Description string `json:"error_description"`
	// Messages has one item for each fault of a parameter.
	Messages []ErrorMessage `json:"messages"`
	// ChargeToken is the charge that was refused or declined.
	ChargeToken string `json:"charge_token"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s (request %s)", e.Status, e.Code, e.Description, e.RequestID)
}

// Is compares with ErrCardDeclined and the others.
func (e *Error) Is(target error) bool {
	switch e.Code {
	case "card_declined", "insufficient_funds", "invalid_cvv", "invalid_card", "processing_error", "suspected_fraud", "expired_card",
		"lost_card", "stolen_card", "unknown":
		return target == ErrCardDeclined
	case "invalid_resource", "unprocessable_entity":
		return target == ErrInvalidResource
	}
	switch {
	case e.Status >= 500:
		return target == ErrServer
	case e.Status == http.StatusUnauthorized:
		return target == ErrUnauthorized
	case e.Status == http.StatusNotFound:
		return target == ErrNotFound
	case e.Status == http.StatusConflict:
		return target == ErrConflict
	case e.Status == http.StatusTooManyRequests:
		return target == ErrRateLimited
	}
	return false
}

// NoResponseError says that the connection was lost, and that repeating did not help: repeat the request later, under its IdempotencyKey.
type NoResponseError struct {
	// IdempotencyKey is the key that was sent, "" if the request changes nothing.
	IdempotencyKey string
	// Err is what the last try failed with.
	Err error
}

func (e *NoResponseError) Error() string { return fmt.Sprintf("there was no response: %v", e.Err) }

// Unwrap returns Err.
func (e *NoResponseError) Unwrap() error { return e.Err }

// Timeout says whether it took too long, as a net.Error does.
func (e *NoResponseError) Timeout() bool {
	var timed interface{ Timeout() bool }
	return errors.As(e.Err, &timed) && timed.Timeout()
}

// Result returns what an operation's Execute returns, with an *Error for a refusal: Result(client.ChargesAPI.ListCharges(ctx).Execute()).
func Result[T any](record T, response *http.Response, err error) (T, error) {
	return record, Done(response, err)
}

// Done is Result for operations that return no record.
func Done(response *http.Response, err error) error {
	if err == nil || response == nil || response.StatusCode < 300 {
		return err
	}
	text, readErr := io.ReadAll(response.Body)
	if readErr != nil {
		return readErr
	}
	refusal := Error{}
	// insufficient_service_balance comes in a list. What is no JSON has no code.
	list := []json.RawMessage{}
	if json.Unmarshal(text, &list) == nil && len(list) > 0 {
		text = list[0]
	}
	_ = json.Unmarshal(text, &refusal)
	refusal.Status, refusal.RequestID = response.StatusCode, response.Header.Get("X-Request-Id")
	if response.Request != nil {
		refusal.IdempotencyKey = response.Request.Header.Get("Idempotency-Key")
	}
	return &refusal
}
