module CardPaymentsClient
  # The server refused a request, or gave no response.
  class Error < StandardError
    # The codes of a card that is declined.
    DECLINES = %w[
      card_declined insufficient_funds invalid_cvv invalid_card processing_error suspected_fraud expired_card lost_card stolen_card
      unknown
    ].freeze

    # The status of the response, nil if there was none.
    attr_reader :status
    # The error object of the response.
    attr_reader :body
    # X-Request-Id of the response.
    attr_reader :request_id
    # The Idempotency-Key that was sent, nil if the request changes nothing.
    attr_reader :idempotency_key

    def initialize(status, body, request_id, idempotency_key = nil)
      @status, @body, @request_id, @idempotency_key = status, body, request_id, idempotency_key
      super("#{status} #{code}: #{description} (request #{request_id})")
    end

    # The error code; docs/errors.md lists them.
    def code = body['error']

    # The sentence of the code.
    def description = body['error_description']

    # One hash of param, code and message for each fault of a parameter.
    def messages = body.fetch('messages', [])

    # The charge that was refused or declined.
    def charge_token = body['charge_token']

    # The error of what the generated code raises for a request with this key.
    def self.from(failed, idempotency_key)
      # A status of success is that of an answer that was cut off.
      status = failed.code.to_i < 300 ? nil : failed.code
      return NoResponse.new(nil, { 'error_description' => failed.message }, nil, idempotency_key) if status.nil?

      body = parse(failed.response_body)
      request_id = CardPaymentsClient.header(failed.response_headers, 'X-Request-Id')
      kind(status, body['error']).new(status, body, request_id, idempotency_key)
    end

    def self.parse(text)
      parsed = JSON.parse(text.to_s)
      # insufficient_service_balance comes in a list.
      parsed = parsed.first if parsed.is_a?(Array)
      parsed.is_a?(Hash) ? parsed : {}
    rescue JSON::ParserError
      {}
    end
    private_class_method :parse

    def self.kind(status, code)
      return CardDeclined if DECLINES.include?(code)
      return InvalidResource if %w[invalid_resource unprocessable_entity].include?(code)
      return ServerError if status >= 500

      { 401 => Unauthorized, 404 => NotFound, 409 => Conflict, 429 => RateLimited }.fetch(status, Error)
    end
    private_class_method :kind
  end

  # The card was declined; nothing was charged. The code says why.
  class CardDeclined < Error; end
  # Parameters are missing or invalid; messages has each.
  class InvalidResource < Error; end
  # The key is none of the account.
  class Unauthorized < Error; end
  # There is no such record.
  class NotFound < Error; end
  # Another request is still in flight.
  class Conflict < Error; end
  # There were too many requests.
  class RateLimited < Error; end
  # The server or the acquirer failed, and repeating did not help: repeat the request later, under this idempotency_key.
  class ServerError < Error; end
  # The connection was lost, and repeating did not help: repeat the request later, under this idempotency_key.
  class NoResponse < Error; end
end
