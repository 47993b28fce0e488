package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The ids of the events that were processed; in production, a unique column of your database.
var seen sync.Map

func genuine(key, body []byte, head http.Header) bool {
	id, sent := head.Get("webhook-id"), head.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	age := time.Since(time.Unix(seconds, 0)).Abs()
	if err != nil || age > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, sent, body)
	for _, signature := range strings.Split(head.Get("webhook-signature"), " ") {
		given, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
		// In constant time: how long it takes says nothing about the right signature.
		if err == nil && strings.HasPrefix(signature, "v1,") && hmac.Equal(given, mac.Sum(nil)) {
			return true
		}
	}
	return false
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_KEY"), "whsec_"))
	if err != nil || len(key) == 0 {
		panic("WEBHOOK_KEY is the key of no endpoint")
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !genuine(key, body, r.Header) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, known := seen.LoadOrStore(r.Header.Get("webhook-id"), true); !known {
			var event struct{ Token, Type string }
			json.Unmarshal(body, &event)
			fmt.Println(event.Token, event.Type)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "9000"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		panic(err)
	}
	fmt.Printf("Listening on http://%s\n", listener.Addr())
	panic(http.Serve(listener, nil))
}
