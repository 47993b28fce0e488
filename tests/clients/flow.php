<?php
// The flow of every client, by openapi-generator's PHP.
require 'autoload.php';

use OpenAPI\Client\{Api, ApiException, Configuration, Model, ObjectSerializer};

function holds(bool $condition, mixed $said): void
{
    $condition || throw new Exception(print_r($said, true));
}

/** Status and body of what is refused. */
function refused(callable $request): array
{
    try {
        $request();
    } catch (ApiException $refusal) {
        return [$refusal->getCode(), $refusal->getResponseObject()];
    }
    throw new Exception('it was not refused');
}

$api = (new Configuration())->setHost(getenv('SERVER'))->setUsername(getenv('KEY'))->setPassword('');
$details = [
    'number' => '4200000000000000', 'expiry_month' => 5, 'expiry_year' => 2030, 'cvc' => '123', 'name' => 'Roland Robot',
    'address_line1' => '42 Sevenoaks St', 'address_city' => 'Lathlain', 'address_country' => 'AU',
];
$input = fn (int $amount, array $payer = []) => new Model\ChargeInput([
    'email' => 'roland@example.com', 'description' => 'PHP', 'amount' => $amount, 'ip_address' => '203.192.1.172', ...$payer,
]);

$charges = new Api\ChargesApi(config: $api);
$card = (new Api\CardsApi(config: $api))->createCard(new Model\BrowserCardInput($details))->getResponse();
$charge = $charges->createCharge($input(400, ['card_token' => $card->getToken()]))->getResponse();
holds($charge->getSuccess() && $charge->getAmount() === 400, $charge);
$inline = $charges->createCharge($input(500, ['card' => new Model\CardInput($details)]))->getResponse();
holds(str_ends_with($inline->getCard()->getDisplayNumber(), '0000'), $inline);

$refunds = new Api\RefundsApi(config: $api);
$refund = $refunds->createRefund($charge->getToken(), refund_input: new Model\RefundInput(['amount' => 100]))->getResponse();
holds([$refund->getCharge(), $refund->getAmount()] === [$charge->getToken(), 100], $refund);

$page = $charges->listCharges(per_page: 2);
$tokens = array_map(fn (Model\Charge $charge) => $charge->getToken(), $page->getResponse());
holds($tokens === [$inline->getToken(), $charge->getToken()], $page);

[$status, $body] = refused(fn () => $charges->createCharge($input(400)));
holds($status === 422 && $body->getError() === 'invalid_resource', $body);
$much = new Model\TransferInput(
    ['description' => 'Too much', 'amount' => 1_000_000_000_000, 'currency' => 'AUD', 'recipient' => 'self'],
);
[$status, $body] = refused(fn () => (new Api\TransfersApi(config: $api))->createTransfer($much));
holds($status === 402 && $body[0]->getError() === 'insufficient_service_balance', $body);

$person = new Model\CustomerInput(['email' => 'roland@example.com', 'card' => new Model\CardInput($details)]);
$customer = (new Api\CustomersApi(config: $api))->createCustomer($person)->getResponse();
$monthly = new Model\PlanInput(['name' => 'PHP', 'amount' => 1000, 'interval' => 1, 'interval_unit' => 'month']);
$plan = (new Api\PlansApi(config: $api))->createPlan($monthly)->getResponse();
$wanted = new Model\SubscriptionInput(['plan_token' => $plan->getToken(), 'customer_token' => $customer->getToken()]);
$subscription = (new Api\SubscriptionsApi(config: $api))->createSubscription($wanted)->getResponse();
holds($subscription->getState() === 'active', $subscription);

$event = ObjectSerializer::deserialize(file_get_contents(getenv('WEBHOOK')), Model\Event::class);
holds($event->getType() === 'charge.captured' && str_starts_with($event->getData()['token'], 'ch_'), $event);
$captured = ObjectSerializer::deserialize(file_get_contents(getenv('WEBHOOK')), Model\ChargeCapturedEvent::class);
holds($captured->getData()->getCaptured(), $captured);
