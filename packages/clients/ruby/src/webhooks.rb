require 'openssl'

module CardPaymentsClient
  # The webhook is not of the server, or too old.
  class WebhookRefused < StandardError; end

  # Seconds that the time of a webhook may be off this machine's.
  WEBHOOK_TOLERANCE = 300

  # Returns the event of a webhook that was signed with an endpoint's key, whsec_..., within the last five minutes, else raises
  # WebhookRefused: only what the server has signed is an event. The headers are those of the request, the body is its body, byte for
  # byte. The event has the class of its type, such as ChargeCapturedEvent, whose data is a Charge, or is an Event if the type is newer than
  # this client.
  def self.verify_webhook(headers, body, key)
    id, timestamp, signatures = %w[webhook-id webhook-timestamp webhook-signature].map { header(headers, _1) }
    seconds = Integer(timestamp, 10, exception: false) unless timestamp.nil?
    raise WebhookRefused, 'the request has not the headers of a webhook' if id.nil? || seconds.nil? || signatures.nil?
    raise WebhookRefused, 'the webhook is too old, or of the future' if (Time.now.to_i - seconds).abs > WEBHOOK_TOLERANCE

    expected = sign("#{id}.#{timestamp}.#{body}", key)
    unless signatures.split.any? { OpenSSL.secure_compare(_1, expected) }
      raise WebhookRefused, 'the signature does not fit'
    end

    event = JSON.parse(body, symbolize_names: true)
    KnownEvent.build(event) || Event.build_from_hash(event)
  end

  def self.sign(text, key)
    secret = key.delete_prefix('whsec_').unpack1('m0')
    raise ArgumentError if secret.empty?

    "v1,#{[OpenSSL::HMAC.digest('SHA256', secret, text)].pack('m0')}"
  rescue ArgumentError
    raise WebhookRefused, 'the key is none of an endpoint'
  end
  private_class_method :sign
end
