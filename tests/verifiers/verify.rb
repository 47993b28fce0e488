require "json"
require "openssl"
require "set"
require "socket"

KEY = ENV.fetch("WEBHOOK_KEY").delete_prefix("whsec_").unpack1("m")
raise "WEBHOOK_KEY is the key of no endpoint" if KEY.empty?

# The ids of the events that were processed; in production, a unique column of your database.
SEEN = Set.new

def genuine?(body, head)
  id, time = head.values_at("webhook-id", "webhook-timestamp")
  return false unless id && time&.match?(/\A\d+\z/) && (Time.now.to_i - time.to_i).abs <= 300

  own = ["v1,", [OpenSSL::HMAC.digest("SHA256", KEY, "#{id}.#{time}.#{body}")].pack("m0")].join
  # In constant time: how long it takes says nothing about the right signature.
  head["webhook-signature"].to_s.split.any? { |given| OpenSSL.secure_compare(own, given) }
end

def receive(connection)
  connection.gets
  head = {}
  while (line = connection.gets&.chomp) && !line.empty?
    name, value = line.split(/:\s*/, 2)
    head[name.downcase] = value
  end
  body = connection.read(head["content-length"].to_i.clamp(0, 1_000_000)).to_s
  return "400 Bad Request" unless genuine?(body, head)

  event = JSON.parse(body)
  puts "#{event["token"]} #{event["type"]}" if SEEN.add?(head["webhook-id"])
  "204 No Content"
rescue JSON::ParserError
  # One bad request must not end the receiver.
  "400 Bad Request"
end

$stdout.sync = true
server = TCPServer.new("127.0.0.1", Integer(ENV.fetch("PORT", "9000")))
puts "Listening on http://127.0.0.1:#{server.addr[1]}"
loop do
  connection = server.accept
  connection.write("HTTP/1.1 #{receive(connection)}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
rescue SystemCallError
  # The sender is gone.
ensure
  connection&.close
end
