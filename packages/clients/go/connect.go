package cardpaymentsclient

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// Connect returns a client of the account that the key is of. Each request waits 70 seconds for a response at most, and is repeated as
// Retrying says. For other settings, change its configuration by GetConfig.
func Connect(url, secretKey string) *APIClient {
	configuration := NewConfiguration()
	configuration.Servers = ServerConfigurations{{URL: strings.TrimRight(url, "/")}}
	configuration.AddDefaultHeader("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(secretKey+":")))
	configuration.HTTPClient = &http.Client{Transport: &Retrying{Timeout: 70 * time.Second}}
	return NewAPIClient(configuration)
}

// position is where a page is in its list.
type position interface {
	GetCount() int64
	GetPerPage() int64
}

// List iterates over the items of all pages of a list:
//
//	for charges.Next() {
//		use(charges.Item())
//	}
//	if charges.Err() != nil { ... }
type List[T any] struct {
	get    func(number int64) ([]T, position, error)
	number int64
	isLast bool
	items  []T
	item   T
	err    error
}

// Items returns the items of all pages that get returns by their numbers:
//
//	Items[Charge](func(number int64) (*ChargePage, *http.Response, error) {
//		return client.ChargesAPI.ListCharges(ctx).PerPage(100).Page(number).Execute()
//	})
func Items[T any, Page interface{ GetResponse() []T }](get func(number int64) (Page, *http.Response, error)) *List[T] {
	return &List[T]{get: func(number int64) ([]T, position, error) {
		page, err := Result(get(number))
		if err != nil {
			return nil, nil, err
		}
		switch page := any(page).(type) {
		case interface{ GetPagination() Pagination }:
			pagination := page.GetPagination()
			return page.(Page).GetResponse(), &pagination, nil
		case interface{ GetPagination() ShortPagination }:
			pagination := page.GetPagination()
			return page.(Page).GetResponse(), &pagination, nil
		}
		panic("a page has its pagination")
	}}
}

// Next goes to the next item, and returns whether there is one.
func (l *List[T]) Next() bool {
	for len(l.items) == 0 {
		if l.isLast || l.err != nil {
			return false
		}
		l.number++
		var at position
		if l.items, at, l.err = l.get(l.number); l.err == nil {
			l.isLast = l.number*at.GetPerPage() >= at.GetCount()
		}
	}
	l.item, l.items = l.items[0], l.items[1:]
	return true
}

// Item returns the item that Next has gone to.
func (l *List[T]) Item() T { return l.item }

// Err returns why the list has ended early, nil if it has not.
func (l *List[T]) Err() error { return l.err }
