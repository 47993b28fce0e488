package cardpaymentsclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	mathrand "math/rand"
	"net/http"
	"strconv"
	"time"
)

const (
	tries      = 5
	firstPause = 250 * time.Millisecond
	// A server that asks for a longer pause gets no further request.
	longestPause = 30 * time.Second
)

// Retrying is a transport that repeats a request whose connection is lost, and one that is answered by 429, by a status over 499, or by
// a 409 with Retry-After. A change has one Idempotency-Key for all its tries, so it happens once.
type Retrying struct {
	// Timeout is the longest time of a try.
	Timeout time.Duration
	// Transport sends the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// RoundTrip sends a request until there is a response that is not to be repeated, else it returns a *NoResponseError.
func (r *Retrying) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		defer request.Body.Close()
	}
	request = request.Clone(request.Context())
	switch request.Method {
	case http.MethodPost, http.MethodPut, http.MethodDelete:
		if request.Header.Get("Idempotency-Key") == "" {
			request.Header.Set("Idempotency-Key", newKey())
		}
	}
	response, err := r.repeat(request)
	if err != nil {
		return nil, &NoResponseError{IdempotencyKey: request.Header.Get("Idempotency-Key"), Err: err}
	}
	return response, nil
}

func (r *Retrying) repeat(request *http.Request) (*http.Response, error) {
	for number := 0; ; number++ {
		response, err := r.once(request)
		pause, repeats := pauseAfter(response, err, number)
		if !repeats || number == tries-1 || request.Context().Err() != nil {
			return response, err
		}
		select {
		case <-time.After(pause):
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
}

// once sends the request, and receives the whole response.
func (r *Retrying) once(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), r.Timeout)
	defer cancel()
	sent := request.Clone(ctx)
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		sent.Body = body
	}
	transport := r.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	response, err := transport.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, nil
}

// pauseAfter returns the time until the next try, and whether there is one: seconds that double with each try, half of them at random,
// or as many as the server wants.
func pauseAfter(response *http.Response, err error, number int) (time.Duration, bool) {
	pause := time.Duration(float64(firstPause) * math.Pow(2, float64(number)) * (0.5 + mathrand.Float64()/2))
	if err != nil {
		return pause, true
	}
	seconds, noPause := strconv.Atoi(response.Header.Get("Retry-After"))
	if wanted := time.Duration(seconds) * time.Second; wanted > pause {
		pause = wanted
	}
	status := response.StatusCode
	repeats := status == http.StatusTooManyRequests || status >= 500 || (status == http.StatusConflict && noPause == nil)
	return pause, repeats && pause <= longestPause
}

func newKey() string {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", random)
}
