package cardpayments_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"cardpayments"
)

var plan = map[string]any{"name": "Tea", "amount": 1000, "interval": 1, "interval_unit": "month"}

type named struct{ Name string }

func plans(t *testing.T, account interface {
	Request(method, path string, body, record any) error
}) []named {
	t.Helper()
	var plans []named
	must(t, account.Request("GET", "/1/plans", nil, &plans))
	return plans
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, found, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(found, wanted) {
		t.Errorf("%v is not %v", found, wanted)
	}
}

// failing is a test that is expected to fail.
type failing struct {
	testing.TB
	message string
	cleanup []func()
}

// run runs a test to its end, and returns why it failed.
func run(t *testing.T, test func(t testing.TB)) string {
	f, ended := &failing{TB: t}, make(chan struct{})
	go func() {
		defer close(ended)
		test(f)
	}()
	<-ended
	for i := len(f.cleanup) - 1; i >= 0; i-- {
		f.cleanup[i]()
	}
	return f.message
}

func (f *failing) Fatal(values ...any) {
	f.message = fmt.Sprint(values...)
	runtime.Goexit()
}

func (f *failing) Fatalf(format string, values ...any) { f.Fatal(fmt.Sprintf(format, values...)) }

func (f *failing) Error(values ...any) { f.message = fmt.Sprint(values...) }

func (f *failing) Cleanup(cleanup func()) { f.cleanup = append(f.cleanup, cleanup) }

func TestEachTestHasAnAccountOfItsOwn(t *testing.T) {
	one, other := cardpayments.CreateAccount(t), cardpayments.CreateAccount(t)
	must(t, one.Request("POST", "/1/plans", plan, nil))
	equal(t, plans(t, one), []named{{"Tea"}})
	equal(t, plans(t, other), []named{})
	equal(t, strings.HasPrefix(one.PublishableKey, "pk_"), true)
}

func TestAnErrorSaysWhatWasRefused(t *testing.T) {
	err := cardpayments.CreateAccount(t).Request("POST", "/1/plans", map[string]any{}, nil)
	var refused *cardpayments.APIError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	wanted := "POST /1/plans: 422 unprocessable_entity: Validation failure"
	equal(t, strings.HasPrefix(err.Error(), wanted), true)
	var body struct{ Messages []any }
	must(t, json.Unmarshal(refused.Body, &body))
	equal(t, len(body.Messages) > 0, true)
}

func TestAClockIsMovedByASpanOrToATime(t *testing.T) {
	account := cardpayments.CreateAccount(t)
	account.MoveClock("1d")
	equal(t, len(account.MoveClockTo("2090-01-01")), 0)
	var clock struct{ Now string }
	must(t, account.Request("GET", "/1/sandbox/clock", nil, &clock))
	equal(t, clock.Now[:10], "2090-01-01")
}

func TestAnInboxGivesEventsThatAreSignedAndShowsAllThatArrives(t *testing.T) {
	account := cardpayments.CreateAccount(t)
	inbox := account.OpenInbox()
	equal(t, len(inbox.Deliveries(0)), 0)
	forged, err := http.NewRequest("POST", inbox.URL, strings.NewReader(`{"type": "plan.created", "token": "evt_1"}`))
	must(t, err)
	forged.Header.Set("webhook-id", "evt_1")
	forged.Header.Set("webhook-signature", "v1,AAAA")
	response, err := http.DefaultClient.Do(forged)
	must(t, err)
	must(t, response.Body.Close())
	must(t, account.Request("POST", "/1/plans", plan, nil))
	var tea named
	inbox.WaitFor("plan.created", &tea)
	equal(t, tea, named{"Tea"})
	if event, ok := inbox.WaitAtMost(0, "plan.created"); ok {
		t.Error(event)
	}
	deliveries := inbox.Deliveries(2)
	equal(t, []string{deliveries[0].Signature, deliveries[1].Signature}, []string{"invalid", "valid"})
	equal(t, strings.Contains(deliveries[1].Body, "Tea"), true)
}

func TestAnInboxAnswersAsOrdered(t *testing.T) {
	account := cardpayments.CreateAccount(t)
	inbox := account.OpenInbox()
	inbox.Answer(map[string]any{"status": 503, "every": 2})
	for n := 0; n < 2; n++ {
		must(t, account.Request("POST", "/1/plans", plan, nil))
		inbox.WaitFor("plan.created", nil)
	}
	deliveries := inbox.Deliveries(0)
	equal(t, []int{deliveries[0].Status, deliveries[1].Status}, []int{200, 503})
}

func TestWhatAHelperCannotDoFailsTheTest(t *testing.T) {
	wrong := map[string]any{"drop_rate": 7}
	nowhere := cardpayments.Connect("http://127.0.0.1:1", "sk_test_0123456789")
	for start, test := range map[string]func(t testing.TB){
		"PUT /1/sandbox/clock: 422":    func(t testing.TB) { cardpayments.CreateAccount(t).MoveClock("yesterday") },
		"PUT /1/sandbox/acquirer: 422": func(t testing.TB) { cardpayments.CreateAccount(t).SetFaults(wrong) },
		`Post "http://127.0.0.1:1/`:    func(t testing.TB) { nowhere.CreateAccount(t) },
	} {
		if message := run(t, test); !strings.HasPrefix(message, start) {
			t.Errorf("%q does not start with %q", message, start)
		}
	}
}

func TestAServerHasFixturesAndALogAndEnds(t *testing.T) {
	fixtures, log := filepath.Join(t.TempDir(), "shop.yaml"), filepath.Join(t.TempDir(), "server.log")
	must(t, os.WriteFile(fixtures, []byte("plans:\n  tea: { name: Tea, amount: 1000, every: month }\n"), 0o600))
	own, err := cardpayments.Start(cardpayments.Options{Fixtures: fixtures, Log: log})
	must(t, err)
	again := cardpayments.Connect(own.URL+"/", own.SecretKey)
	equal(t, plans(t, again), []named{{"Tea"}})
	own.Stop()
	own.Stop()
	again.Stop()
	if err := again.Request("GET", "/1/plans", nil, nil); err == nil {
		t.Error("it has not ended")
	}
	text, err := os.ReadFile(log)
	must(t, err)
	equal(t, bytes.Contains(text, []byte(`"/1/plans"`)), true)
}

func TestAServerThatDoesNotStartIsAnError(t *testing.T) {
	fixtures := filepath.Join(t.TempDir(), "shop.yaml")
	must(t, os.WriteFile(fixtures, []byte("plants:\n"), 0o600))
	_, err := cardpayments.Start(cardpayments.Options{Fixtures: fixtures})
	equal(t, fmt.Sprint(err), "card-payments did not start: exit code 1")
	_, err = cardpayments.Start(cardpayments.Options{Program: "/nowhere/card-payments"})
	equal(t, errors.Is(err, fs.ErrNotExist), true)
}

func TestTwoHundredTestsLeaveNothing(t *testing.T) {
	var accounts []*cardpayments.Account
	for n := 0; n < 200; n++ {
		t.Run("", func(t *testing.T) {
			accounts = append(accounts, cardpayments.CreateAccount(t))
		})
	}
	for _, account := range accounts {
		var refused *cardpayments.APIError
		err := account.Request("GET", "/1/balance", nil, nil)
		equal(t, errors.As(err, &refused) && refused.Status == 401, true)
	}
}

func isOpen(url string) bool {
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	connection, err := net.Dial("tcp", address)
	if err == nil {
		_ = connection.Close()
	}
	return err == nil
}

// asRun runs a test of this file in a process of its own.
func asRun(test string, variables ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	command.Env = append(os.Environ(), append(variables, "AS_RUN=1")...)
	return command
}

func TestAKilledRunLeavesNoServer(t *testing.T) {
	if os.Getenv("AS_RUN") != "" {
		_, _ = fmt.Println(cardpayments.CreateAccount(t).URL)
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		select {}
	}
	killed := asRun("TestAKilledRunLeavesNoServer")
	var output, errors bytes.Buffer
	killed.Stdout, killed.Stderr = &output, &errors
	// Returns when the server, which has the same stderr, has ended as well.
	if err := killed.Run(); err == nil || err.Error() != "signal: killed" {
		t.Fatal(err, output.String(), errors.String())
	}
	equal(t, isOpen(strings.TrimSpace(output.String())), false)
}

func TestTestsBesideARunningServerUseIt(t *testing.T) {
	if os.Getenv("AS_RUN") != "" {
		equal(t, cardpayments.CreateAccount(t).URL, os.Getenv("CARD_PAYMENTS_URL"))
		return
	}
	server, err := cardpayments.Start(cardpayments.Options{})
	must(t, err)
	t.Cleanup(server.Stop)
	url, key := "CARD_PAYMENTS_URL="+server.URL, "CARD_PAYMENTS_SECRET_KEY="+server.SecretKey
	output, err := asRun("TestTestsBesideARunningServerUseIt", url, key).CombinedOutput()
	equal(t, string(output), "PASS\n")
	must(t, err)
	output, err = asRun("TestTestsBesideARunningServerUseIt", url).CombinedOutput()
	equal(t, err != nil && bytes.Contains(output, []byte("needs the key of an account")), true)
}
