package cardpayments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// APIError says what the server refused.
type APIError struct {
	// Call is method and path.
	Call string
	// Status is the status of the response.
	Status int
	// Code is the error code.
	Code string
	// Description is the sentence of the error.
	Description string
	// Body is the JSON of the response.
	Body json.RawMessage
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s: %d %s: %s", e.Call, e.Status, e.Code, e.Description)
}

// A transport without a proxy, which would look for the server on its own machine.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 70 * time.Second}

func request(url, key, method, path string, body, record any) error {
	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, url+path, sent)
	if err != nil {
		return err
	}
	request.SetBasicAuth(key, "")
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return newAPIError(method+" "+path, response.StatusCode, text)
	}
	if record == nil || len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, &struct{ Response any }{record})
}

func newAPIError(call string, status int, text []byte) *APIError {
	type body struct {
		Error       string
		Description string `json:"error_description"`
	}
	// One of the errors is an array of one.
	errors := make([]body, 1)
	if json.Unmarshal(text, &errors) != nil || len(errors) == 0 {
		errors = make([]body, 1)
		_ = json.Unmarshal(text, &errors[0])
	}
	return &APIError{call, status, errors[0].Error, errors[0].Description, text}
}
