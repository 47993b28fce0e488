Gem::Specification.new do |gem|
  gem.name = 'card_payments_client'
  gem.version = '0.0.0'
  gem.summary = 'A client of the card payments server'
  gem.authors = ['The card-payments authors']
  gem.license = 'Apache-2.0'
  gem.required_ruby_version = '>= 3.0'
  gem.files = Dir['lib/**/*.rb', 'README.md', 'LICENSE']
  gem.add_runtime_dependency 'typhoeus', '~> 1.4'
end
