<?php
// The client against a real server: see packages/clients/beside.py. Without PHPUnit: each test is a function.
use CardPayments\Client\{Api, ApiError, Client, ErrorKind, Model, NoResponse, WebhookRefused, Webhooks};

require 'autoload.php';

const CARD = [
    'number' => '4200000000000000', 'expiry_month' => 12, 'expiry_year' => 2099, 'cvc' => '123', 'name' => 'Roland Robot',
    'address_line1' => '42 Sevenoaks St', 'address_city' => 'Lathlain', 'address_country' => 'AU',
];

function same(mixed $expected, mixed $found): void
{
    $expected === $found || throw new Exception(print_r(['expected' => $expected, 'found' => $found], true));
}

/** @return Throwable what a call throws */
function refused(string $kind, callable $call): Throwable
{
    try {
        $call();
    } catch (Throwable $refused) {
        return $refused instanceof $kind ? $refused : throw $refused;
    }
    throw new Exception('it was not refused');
}

function client(string $address = 'SERVER'): Client
{
    return new Client(getenv($address), getenv('KEY'));
}

function api(): Api\ChargesApi
{
    return client()->api(Api\ChargesApi::class);
}

function order(int $amount = 400, array $payer = null): Model\ChargeInput
{
    return new Model\ChargeInput([
        'email' => 'roland@example.com', 'description' => 'Order', 'amount' => $amount, 'ip_address' => '203.192.1.172',
        ...$payer ?? ['card' => new Model\CardInput(CARD)],
    ]);
}

/** The tokens of the successful charges, newest first. */
function charges(): array
{
    $tokens = [];
    foreach (Client::items(fn (int $page) => api()->listCharges($page, 2)) as $charge) {
        if ($charge->getSuccess()) {
            $tokens[] = $charge->getToken();
        }
    }
    return $tokens;
}

$tests = [
    'a card is stored, charged, captured and refunded' => function () {
        $card = client()->api(Api\CardsApi::class)->createCard(new Model\BrowserCardInput(CARD))->getResponse();
        $charge = api()->createCharge(order(400, ['card_token' => $card->getToken(), 'capture' => false]))->getResponse();
        same(false, $charge->getCaptured());
        same(true, api()->captureCharge($charge->getToken())->getResponse()->getCaptured());
        $part = new Model\RefundInput(['amount' => 100]);
        $refund = client()->api(Api\RefundsApi::class)->createRefund($charge->getToken(), refund_input: $part)->getResponse();
        same([$charge->getToken(), 100], [$refund->getCharge(), $refund->getAmount()]);
    },
    'a list gives the items of all pages' => function () {
        $before = charges();
        $made = array_map(fn (int $amount) => api()->createCharge(order($amount))->getResponse()->getToken(), [100, 200, 300]);
        same([...array_reverse($made), ...$before], charges());
        $plans = client()->api(Api\PlansApi::class);
        foreach (['One', 'Two'] as $name) {
            $plans->createPlan(new Model\PlanInput(['name' => $name, 'amount' => 1000, 'interval' => 1, 'interval_unit' => 'month']));
        }
        $listed = Client::items(fn (int $page) => $plans->listPlans($page, 1));
        same(['Two', 'One'], array_map(fn (Model\Plan $plan) => $plan->getName(), iterator_to_array($listed, false)));
    },
    'a charge whose connection is cut is made once' => function () {
        $before = charges();
        $charge = client('CUT')->api(Api\ChargesApi::class)->createCharge(order())->getResponse();
        same([$charge->getToken(), ...$before], charges());
    },
    'a charge without a response is repeated under the key of its error' => function () {
        $before = charges();
        $lost = refused(NoResponse::class, fn () => client('LOST')->api(Api\ChargesApi::class)->createCharge(order()));
        $charge = api()->createCharge(order(), null, $lost->idempotencyKey)->getResponse();
        same([$charge->getToken(), ...$before], charges());
    },
    'a charge that was approved but lost is made once' => function () {
        $before = charges();
        $lost = refused(ApiError::class, fn () => api()->createCharge(order(), 'approved_but_lost', 'lost'));
        same(
            [ErrorKind::ServerError, 502, 'gateway_error', 'lost'],
            [$lost->kind, $lost->status, $lost->errorCode, $lost->idempotencyKey],
        );
        $charge = api()->createCharge(order(), null, 'lost')->getResponse();
        same($charge->getToken(), api()->createCharge(order(), null, 'lost')->getResponse()->getToken());
        same([$charge->getToken(), ...$before], charges());
    },
    'a refusal is of its kind' => function () {
        $declined = refused(ApiError::class, fn () => api()->createCharge(order(), 'insufficient_funds'));
        same([ErrorKind::CardDeclined, 400, 'insufficient_funds'], [$declined->kind, $declined->status, $declined->errorCode]);
        same(true, $declined->requestId !== null && str_starts_with($declined->chargeToken, 'ch_'));
        $invalid = refused(ApiError::class, fn () => api()->createCharge(order(400, [])));
        same([ErrorKind::InvalidResource, true], [$invalid->kind, isset($invalid->messages[0]['param'])]);
        $nameless = new Model\PlanInput(['name' => ' ', 'amount' => 400, 'interval' => 1, 'interval_unit' => 'month']);
        $plans = client()->api(Api\PlansApi::class);
        same(ErrorKind::InvalidResource, refused(ApiError::class, fn () => $plans->createPlan($nameless))->kind);
        same(ErrorKind::NotFound, refused(ApiError::class, fn () => api()->getCharge('ch_AAAAAAAAAAAAAAAAAAAAAA'))->kind);
        $stranger = (new Client(getenv('SERVER'), 'sk_test_nobody'))->api(Api\ChargesApi::class);
        same(ErrorKind::Unauthorized, refused(ApiError::class, fn () => $stranger->getCharge('ch_AAAAAAAAAAAAAAAAAAAAAA'))->kind);
    },
    'a webhook is verified' => function () {
        ['headers' => $headers, 'body' => $body, 'key' => $key, 'events' => $events, 'newer' => $newer]
            = json_decode(file_get_contents(getenv('WEBHOOK')), true);
        $event = Webhooks::verify($headers, $body, $key);
        same(Model\ChargeCapturedEvent::class, $event::class);
        same(['charge.captured', true], [$event->getType(), str_starts_with($event->getData()->getToken(), 'ch_')]);
        foreach ($events as $sent) {
            $known = Webhooks::verify($sent['headers'], $sent['body'], $key);
            same([false, true], [$known instanceof Model\Event, $known->getData()->getToken() !== null]);
        }
        $newer = Webhooks::verify($newer['headers'], $newer['body'], $key);
        same([Model\Event::class, 'charge.of_tomorrow', 'new_1'], [$newer::class, $newer->getType(), $newer->getData()['token']]);
        $other = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
        $example = [
            'webhook-id' => 'msg_p5jXN8AQM9LWM0D4loKWxJek', 'webhook-timestamp' => '1614265330',
            'webhook-signature' => 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
        ];
        $later = ['webhook-timestamp' => (string) ($headers['webhook-timestamp'] + 1)] + $headers;
        $cases = [
            ['does not fit', $headers, $body, $other],
            ['does not fit', $headers, preg_replace('/400/', '4000', $body, 1), $key],
            ['does not fit', $later, $body, $key],
            ['too old', $example, '{"test": 2432232314}', $other],
            ['headers', [], $body, $key],
            ['none of an endpoint', $headers, $body, 'whsec_'],
            ['none of an endpoint', $headers, $body, ''],
        ];
        foreach ($cases as [$reason, $headers, $body, $key]) {
            $message = refused(WebhookRefused::class, fn () => Webhooks::verify($headers, $body, $key))->getMessage();
            same([$message, true], [$message, str_contains($message, $reason)]);
        }
    },
];
foreach ($tests as $name => $test) {
    try {
        $test();
    } catch (Throwable $failed) {
        fwrite(STDERR, "$name: $failed\n");
        exit(1);
    }
}
printf("%d passed\n", count($tests));
