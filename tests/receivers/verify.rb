# Verifies webhooks. Ruby 3.0 or later, the standard library alone.
# frozen_string_literal: true

require "openssl"

module Webhook
  TOLERANCE = 5 * 60 # seconds, either way

  module_function

  # Whether a request was signed with one of your secrets, at most five minutes ago.
  #
  # headers: by name in lower case; body: the raw bytes of the body (Rack: `request.body.read`); secrets: as displayed,
  # during a rotation the old one and the new one; now: Unix seconds, `Time.now.to_i`.
  def verify(headers, body, secrets, now)
    id, timestamp = headers.fetch("webhook-id", ""), headers.fetch("webhook-timestamp", "")
    return false if id.empty? || !timestamp.match?(/\A[0-9]{1,12}\z/)
    return false if (now - timestamp.to_i).abs > TOLERANCE

    signed = "#{id}.#{timestamp}.".b + body.b
    given = headers.fetch("webhook-signature", "").split(" ")
    keys = secrets.map { |secret| secret.delete_prefix("whsec_").unpack1("m") }
    expected = keys.map { |key| "v1,#{[OpenSSL::HMAC.digest("SHA256", key, signed)].pack("m0")}" }
    given.product(expected).any? { |one, other| OpenSSL.secure_compare(one, other) }
  end

  # Returns whether the body was signed with one of your secrets, without a check of the time.
  def verify_legacy(headers, body, secrets)
    given = headers.fetch("x-service-signature", "")
    expected = secrets.map { |secret| "sha256=#{OpenSSL::HMAC.hexdigest("SHA256", secret, body)}" }
    expected.any? { |one| OpenSSL.secure_compare(given, one) }
  end
end
