package cardpaymentsclient

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The longest time that a webhook may be off this machine's clock.
const tolerance = 5 * time.Minute

// ErrWebhookRefused is for a webhook that is not of the server, or too old.
var ErrWebhookRefused = errors.New("the webhook was refused")

// WebhookEvent is the event of a webhook. Its type tells which record its Data is: that of a *ChargeCapturedEvent is a Charge. An *Event is
// of a type that is newer than this client.
type WebhookEvent interface {
	GetToken() string
	GetType() string
	GetCreatedAt() time.Time
	GetSequence() int64
}

// VerifyWebhook returns the event of a webhook that was signed with an endpoint's key, whsec_..., within the last five minutes, else an
// error that is ErrWebhookRefused. The body is that of the request, byte for byte.
func VerifyWebhook(header http.Header, body []byte, key string) (WebhookEvent, error) {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" {
		return nil, fmt.Errorf("%w: the request has not the headers of a webhook", ErrWebhookRefused)
	}
	if age := time.Since(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return nil, fmt.Errorf("%w: it is too old, or of the future", ErrWebhookRefused)
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	if err != nil || len(secret) == 0 {
		return nil, fmt.Errorf("%w: the key is none of an endpoint", ErrWebhookRefused)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, known := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(known), expected) {
			return readEvent(body)
		}
	}
	return nil, fmt.Errorf("%w: the signature does not fit", ErrWebhookRefused)
}

func readEvent(body []byte) (WebhookEvent, error) {
	var kind struct{ Type string }
	if err := json.Unmarshal(body, &kind); err != nil {
		return nil, err
	}
	empty, known := knownEvents[kind.Type]
	if !known {
		empty = func() WebhookEvent { return &Event{} }
	}
	event := empty()
	if err := json.Unmarshal(body, event); err != nil {
		return nil, err
	}
	return event, nil
}
