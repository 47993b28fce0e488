# Runs the code samples in a folder: samples.rb FOLDER. Their tokens are examples, so the server refuses many; it must have read them.
require 'card_payments_client'

# What a sample shows is not looked at.
def p(*) = nil

samples = Dir["#{ARGV.fetch(0)}/*.rb"].sort
samples.each do |file|
  load file
rescue CardPaymentsClient::Error => refused
  raise if [405, 415].include?(refused.status) || refused.status >= 500 || refused.code == 'bad_request'
end
puts "#{samples.size} samples passed"
