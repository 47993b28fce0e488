// Package cardpayments starts a card payments server for tests, with an account for each.
//
// The program card-payments is to be on the PATH. What takes a testing.TB fails the test if it fails, and is to be called by the
// test's own goroutine.
package cardpayments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options say how to start a server.
type Options struct {
	// Fixtures is a file of fixtures for the first account.
	Fixtures string
	// Sample asks for the built-in fixtures.
	Sample bool
	// Log is a file for the server's log.
	Log string
	// Program is the program; by default card-payments on the PATH.
	Program string
}

// Server is a running server, and its first account.
type Server struct {
	URL, SecretKey string

	process *os.Process
	input   io.Closer
	ended   chan struct{}
}

// Start starts a server of its own on a free port. It ends with Stop, and with this process at the latest.
func Start(options Options) (*Server, error) {
	program := options.Program
	if program == "" {
		program = "card-payments"
	}
	command := exec.Command(program, "exec", "--json")
	if options.Fixtures != "" {
		command.Args = append(command.Args, "--fixtures", options.Fixtures)
	}
	if options.Sample {
		command.Args = append(command.Args, "--sample")
	}
	if options.Log != "" {
		command.Args = append(command.Args, "--log", options.Log)
	}
	command.Stderr = os.Stderr
	// The server ends with its input.
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	var started struct {
		Listening string
		SecretKey string `json:"secret_key"`
	}
	if json.NewDecoder(output).Decode(&started) != nil {
		_ = input.Close()
		_ = command.Wait()
		return nil, fmt.Errorf("%s did not start: exit code %d", program, command.ProcessState.ExitCode())
	}
	server := Server{started.Listening, started.SecretKey, command.Process, input, make(chan struct{})}
	go func() {
		defer close(server.ended)
		_ = command.Wait()
	}()
	return &server, nil
}

// Connect returns the server at an address. The key is that of one of its accounts.
func Connect(url, secretKey string) *Server {
	return &Server{URL: strings.TrimSuffix(url, "/"), SecretKey: secretKey}
}

// Request sends JSON, nil for no body, and decodes the record of the response, nil to ignore it. A refusal is an *APIError.
func (s *Server) Request(method, path string, body, record any) error {
	return request(s.URL, s.SecretKey, method, path, body, record)
}

// CreateAccount creates an account with keys, a clock and an opening balance of its own. It is deleted when the test ends.
func (s *Server) CreateAccount(t testing.TB) *Account {
	t.Helper()
	account := &Account{URL: s.URL, t: t}
	if err := s.Request("POST", "/1/sandbox/accounts", map[string]any{}, account); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Request("DELETE", "/1/sandbox/accounts/"+account.Token, nil, nil); err != nil {
			t.Error(err)
		}
	})
	return account
}

// Stop stops a server that was started; its data is deleted.
func (s *Server) Stop() {
	if s.process == nil {
		return
	}
	_ = s.input.Close()
	select {
	case <-s.ended:
	case <-time.After(20 * time.Second):
		_ = s.process.Kill()
		<-s.ended
	}
}

var shared struct {
	sync.Once
	server *Server
	err    error
}

// CreateAccount creates an account of the server that the tests of this package share. It is deleted when the test ends.
//
// The server is that of CARD_PAYMENTS_URL, with the key in CARD_PAYMENTS_SECRET_KEY; by default one of their own.
func CreateAccount(t testing.TB) *Account {
	t.Helper()
	shared.Do(func() { shared.server, shared.err = openShared() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.CreateAccount(t)
}

func openShared() (*Server, error) {
	url := os.Getenv("CARD_PAYMENTS_URL")
	if url == "" {
		return Start(Options{})
	}
	key := os.Getenv("CARD_PAYMENTS_SECRET_KEY")
	if key == "" {
		return nil, errors.New("CARD_PAYMENTS_URL needs the key of an account in CARD_PAYMENTS_SECRET_KEY")
	}
	return Connect(url, key), nil
}
