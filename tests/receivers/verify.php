<?php
// Verifies webhooks. PHP 8.0 or later, no extra extensions.
declare(strict_types=1);

const TOLERANCE = 5 * 60; // seconds, either way

// Whether a request was signed with one of your secrets, at most five minutes ago.
//
// $headers: by name in lower case, array_change_key_case(getallheaders()); $body: the raw bytes of the body,
// file_get_contents('php://input'); $secrets: as displayed, during a rotation the old one and the new one;
// $now: Unix seconds, time().
function verify(array $headers, string $body, array $secrets, int $now): bool
{
    $id = $headers['webhook-id'] ?? '';
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if ($id === '' || !preg_match('/\A[0-9]{1,12}\z/', $timestamp) || abs($now - (int) $timestamp) > TOLERANCE) {
        return false;
    }
    $given = explode(' ', $headers['webhook-signature'] ?? '');
    foreach ($secrets as $secret) {
        $key = base64_decode(preg_replace('/\Awhsec_/', '', $secret));
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        foreach ($given as $one) {
            if (hash_equals($expected, $one)) {
                return true;
            }
        }
    }
    return false;
}

// Returns whether the body was signed with one of your secrets, without a check of the time.
function verify_legacy(array $headers, string $body, array $secrets): bool
{
    foreach ($secrets as $secret) {
        if (hash_equals('sha256=' . hash_hmac('sha256', $body, $secret), $headers['x-service-signature'] ?? '')) {
            return true;
        }
    }
    return false;
}
