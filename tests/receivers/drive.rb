# Prints the verdict of verify.rb on each vector in the given file.
# frozen_string_literal: true

require "json"
require_relative "verify"

verdicts = JSON.parse(File.read(ARGV[0], encoding: "UTF-8")).map do |vector|
  headers, secrets = vector.values_at("headers", "secrets")
  body = vector["body"].sub("{fill}", "x" * vector.fetch("fill", 0))
  [Webhook.verify(headers, body, secrets, vector["now"]), Webhook.verify_legacy(headers, body, secrets)]
end
puts JSON.generate(verdicts)
