require 'securerandom'
require 'uri'

module CardPaymentsClient
  # A client of the account that a key is of, with a method for each section: client.charges.create_charge(order).
  #
  # Repeats a request whose connection is lost, and one that is answered by 429, by a status over 499, or by a 409 with Retry-After. A
  # change has one Idempotency-Key for all its tries, so it happens once.
  class Client < ApiClient
    TRIES = 5
    # In seconds. A server that asks for a longer pause gets no further request.
    FIRST_PAUSE = 0.25
    LONGEST_PAUSE = 30

    # Each request waits for timeout seconds for a response at most.
    def initialize(url, secret_key, timeout: 70)
      server = URI(url)
      super(Configuration.new do |config|
        config.scheme, config.host, config.base_path = server.scheme, "#{server.host}:#{server.port}", server.path
        config.server_index = nil
        config.username, config.password = secret_key, ''
        config.timeout = timeout
      end)
    end

    # ChargesApi is charges.
    CardPaymentsClient.constants.grep(/Api\z/).each do |name|
      section = name.to_s.delete_suffix('Api').gsub(/(?<=[a-z])(?=[A-Z])/, '_').downcase
      define_method(section) { CardPaymentsClient.const_get(name).new(self) }
    end

    # Sends a request, and repeats it: the generated operations call this.
    def call_api(http_method, path, opts = {})
      if %i[POST PUT DELETE].include?(http_method)
        headers = { 'Idempotency-Key' => SecureRandom.uuid }.merge(opts[:header_params].transform_keys(&:to_s))
        opts = opts.merge(header_params: headers)
      end
      number = 0
      begin
        super(http_method, path, opts)
      rescue ApiError => failed
        pause = pause_after(failed, number)
        raise Error.from(failed, headers&.fetch('Idempotency-Key')) if pause.nil?

        sleep pause
        number += 1
        retry
      end
    end

    private

    # The seconds until the next try, nil if there is none.
    def pause_after(failed, number)
      return if number == TRIES - 1

      # They double with each try, half of them are at random.
      pause = FIRST_PAUSE * 2**number * rand(0.5..1)
      status = failed.code.to_i
      # The connection was lost, before the answer or within one that was none of a refusal.
      return pause if status < 300

      after = CardPaymentsClient.header(failed.response_headers, 'Retry-After')
      wanted = Integer(after, 10, exception: false) unless after.nil?
      repeats = status == 429 || status >= 500 || (status == 409 && wanted)
      [pause, wanted || 0].max if repeats && (wanted || 0) <= LONGEST_PAUSE
    end
  end

  # The items of all pages of a list: CardPaymentsClient.items { |page| client.charges.list_charges(page: page, per_page: 100) }
  def self.items(&get)
    Enumerator.new do |items|
      (1..).each do |number|
        page = get.call(number)
        page.response.each { |item| items << item }
        break if number * page.pagination.per_page >= page.pagination.count
      end
    end
  end

  # A header, in any case of letters, or as Rack spells it.
  def self.header(headers, name)
    found = headers.to_h.find { |key, _| key.to_s.delete_prefix('HTTP_').tr('_', '-').casecmp?(name) }&.last
    found.is_a?(Array) ? found.first : found
  end
end
