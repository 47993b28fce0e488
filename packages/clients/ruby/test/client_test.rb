# The client against a real server: see packages/clients/beside.py.
require 'card_payments_client'
require 'json'
require 'minitest/autorun'
require 'tempfile'

class ClientTest < Minitest::Test
  include CardPaymentsClient

  CARD = {
    number: '4200000000000000', expiry_month: 12, expiry_year: 2099, cvc: '123', name: 'Roland Robot',
    address_line1: '42 Sevenoaks St', address_city: 'Lathlain', address_country: 'AU'
  }.freeze

  def setup
    @client = Client.new(ENV.fetch('SERVER'), ENV.fetch('KEY'))
  end

  def order(amount = 400, card: CardInput.new(**CARD), **others)
    ChargeInput.new(email: 'roland@example.com', description: 'Order', amount: amount, ip_address: '203.192.1.172', card: card, **others)
  end

  def charge(client, amount = 400) = client.charges.create_charge(order(amount)).response.token

  # The tokens of the successful charges, newest first.
  def charges
    CardPaymentsClient.items { |page| @client.charges.list_charges(page: page, per_page: 2) }.select(&:success).map(&:token)
  end

  def test_a_card_is_stored_charged_captured_and_refunded
    card = @client.cards.create_card(BrowserCardInput.new(**CARD)).response
    charge = @client.charges.create_charge(order(card: nil, card_token: card.token, capture: false)).response
    refute charge.captured
    assert @client.charges.capture_charge(charge.token).response.captured
    refund = @client.refunds.create_refund(charge.token, refund_input: RefundInput.new(amount: 100)).response
    assert_equal [charge.token, 100], [refund.charge, refund.amount]
  end

  def test_a_list_gives_the_items_of_all_pages
    before = charges
    made = [100, 200, 300].map { charge(@client, _1) }
    assert_equal made.reverse + before, charges
    %w[One Two].each do |name|
      @client.plans.create_plan(PlanInput.new(name: name, amount: 1000, interval: 1, interval_unit: 'month'))
    end
    assert_equal(%w[Two One], CardPaymentsClient.items { |page| @client.plans.list_plans(page: page, per_page: 1) }.map(&:name))
  end

  def test_a_charge_whose_connection_is_cut_is_made_once
    before = charges
    token = charge(Client.new(ENV.fetch('CUT'), ENV.fetch('KEY')))
    assert_equal [token] + before, charges
  end

  def test_a_charge_without_a_response_is_repeated_under_the_key_of_its_error
    before = charges
    lost = assert_raises(NoResponse) { charge(Client.new(ENV.fetch('LOST'), ENV.fetch('KEY'))) }
    token = @client.charges.create_charge(order, idempotency_key: lost.idempotency_key).response.token
    assert_equal [token] + before, charges
  end

  def test_a_charge_that_was_approved_but_lost_is_made_once
    before = charges
    key = { idempotency_key: 'lost' }
    lost = assert_raises(ServerError) { @client.charges.create_charge(order, sandbox_outcome: 'approved_but_lost', **key) }
    assert_equal [502, 'gateway_error', 'lost'], [lost.status, lost.code, lost.idempotency_key]
    charge = @client.charges.create_charge(order, key).response
    assert_equal charge.token, @client.charges.create_charge(order, key).response.token
    assert_equal [charge.token] + before, charges
  end

  def test_a_refusal_is_an_error_of_its_own
    declined = assert_raises(CardDeclined) { @client.charges.create_charge(order, sandbox_outcome: 'insufficient_funds') }
    assert_equal [400, 'insufficient_funds'], [declined.status, declined.code]
    refute_nil declined.request_id
    assert declined.charge_token.start_with?('ch_')
    invalid = assert_raises(InvalidResource) { @client.charges.create_charge(order(card: nil)) }
    refute_empty invalid.messages.first.fetch('param')
    nameless = PlanInput.new(name: ' ', amount: 400, interval: 1, interval_unit: 'month')
    assert_raises(InvalidResource) { @client.plans.create_plan(nameless) }
    assert_raises(NotFound) { @client.charges.get_charge('ch_AAAAAAAAAAAAAAAAAAAAAA') }
    assert_raises(Unauthorized) { Client.new(ENV.fetch('SERVER'), 'sk_test_nobody').charges.get_charge('ch_AAAAAAAAAAAAAAAAAAAAAA') }
  end

  def test_a_file_is_uploaded
    Tempfile.create(['receipt', '.pdf']) do |file|
      file.write("%PDF-1.4\n")
      file.rewind
      uploaded = @client.files.create_file(file, 'dispute_evidence').response
      assert_equal 9, uploaded.size
    end
  end

  def test_a_webhook_is_verified
    webhook = JSON.parse(File.read(ENV.fetch('WEBHOOK')))
    headers, body, key = webhook.values_at('headers', 'body', 'key')
    event = CardPaymentsClient.verify_webhook(headers, body, key)
    assert_equal 'charge.captured', event.type
    assert_instance_of ChargeCapturedEvent, event
    assert event.data.token.start_with?('ch_')
    # As Rails has the headers of a request.
    rack = headers.to_h { |name, value| ["HTTP_#{name.tr('-', '_').upcase}", value] }
    assert_equal 'charge.captured', CardPaymentsClient.verify_webhook(rack, body, key).type
    webhook['events'].each do |sent|
      known = CardPaymentsClient.verify_webhook(sent['headers'], sent['body'], key)
      refute_instance_of Event, known
      refute_empty known.data.token
    end
    newer = CardPaymentsClient.verify_webhook(webhook['newer']['headers'], webhook['newer']['body'], key)
    assert_instance_of Event, newer
    assert_equal %w[charge.of_tomorrow new_1], [newer.type, newer.data['token'] || newer.data[:token]]
    other = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    example = {
      'webhook-id' => 'msg_p5jXN8AQM9LWM0D4loKWxJek', 'webhook-timestamp' => '1614265330',
      'webhook-signature' => 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    }
    later = headers.merge('webhook-timestamp' => headers['webhook-timestamp'].succ)
    [
      [/does not fit/, headers, body, other],
      [/does not fit/, headers, body.sub('400', '4000'), key],
      [/does not fit/, later, body, key],
      [/too old/, example, '{"test": 2432232314}', other],
      [/headers/, {}, body, key],
      [/none of an endpoint/, headers, body, 'whsec_'],
      [/none of an endpoint/, headers, body, '']
    ].each do |reason, *given|
      assert_match reason, assert_raises(WebhookRefused) { CardPaymentsClient.verify_webhook(*given) }.message
    end
  end
end
