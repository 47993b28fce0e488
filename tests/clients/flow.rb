# The flow of every client, by openapi-generator's Ruby.
require 'json'
require 'uri'
require 'openapi_client'
include OpenapiClient

def holds(condition, said)
  raise said.inspect unless condition
end

# Status and body of what is refused.
def refused
  yield
  raise 'it was not refused'
rescue ApiError => refusal
  [refusal.code, JSON.parse(refusal.response_body)]
end

OpenapiClient.configure do |api|
  server = URI(ENV.fetch('SERVER'))
  api.scheme, api.host, api.server_index = server.scheme, "#{server.host}:#{server.port}", nil
  api.username, api.password = ENV.fetch('KEY'), ''
end

DETAILS = {
  number: '4200000000000000', expiry_month: 5, expiry_year: 2030, cvc: '123', name: 'Roland Robot',
  address_line1: '42 Sevenoaks St', address_city: 'Lathlain', address_country: 'AU'
}.freeze

def charge_input(amount, **payer)
  ChargeInput.new(email: 'roland@example.com', description: 'Ruby', amount: amount, ip_address: '203.192.1.172', **payer)
end

charges = ChargesApi.new
card = CardsApi.new.create_card(BrowserCardInput.new(**DETAILS)).response
charge = charges.create_charge(charge_input(400, card_token: card.token)).response
holds charge.success && charge.amount == 400, charge
inline = charges.create_charge(charge_input(500, card: CardInput.new(**DETAILS))).response
holds inline.card.display_number.end_with?('0000'), inline

refund = RefundsApi.new.create_refund(charge.token, refund_input: RefundInput.new(amount: 100)).response
holds [refund.charge, refund.amount] == [charge.token, 100], refund

page = charges.list_charges(per_page: 2)
holds page.response.map(&:token) == [inline.token, charge.token], page

status, body = refused { charges.create_charge(charge_input(400)) }
holds [status, ErrorBody.build_from_hash(body).error] == [422, 'invalid_resource'], body
much = TransferInput.new(description: 'Too much', amount: 1_000_000_000_000, currency: 'AUD', recipient: 'self')
status, body = refused { TransfersApi.new.create_transfer(much) }
holds [status, ErrorBody.build_from_hash(body[0]).error] == [402, 'insufficient_service_balance'], body

person = CustomerInput.new(email: 'roland@example.com', card: CardInput.new(**DETAILS))
customer = CustomersApi.new.create_customer(person).response
plan = PlansApi.new.create_plan(PlanInput.new(name: 'Ruby', amount: 1000, interval: 1, interval_unit: 'month')).response
wanted = SubscriptionInput.new(plan_token: plan.token, customer_token: customer.token)
subscription = SubscriptionsApi.new.create_subscription(wanted).response
holds subscription.state == 'active', subscription

webhook = JSON.parse(File.read(ENV.fetch('WEBHOOK')), symbolize_names: true)
event = Event.build_from_hash(webhook)
holds event.type == 'charge.captured' && event.data['token'].start_with?('ch_'), event
holds ChargeCapturedEvent.build_from_hash(webhook).data.captured, webhook
