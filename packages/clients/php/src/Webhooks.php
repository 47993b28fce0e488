<?php

namespace CardPayments\Client;

/** Webhooks of the server: only what it has signed is an event. */
final class Webhooks
{
    /** Seconds that the time of a webhook may be off this machine's. */
    private const TOLERANCE = 300;

    /**
     * Returns the event of a webhook that was signed with an endpoint's key, `whsec_...`, within the last five minutes:
     * one of the class of its type, or a `Model\Event` if the type is newer than this client.
     *
     * @param array<string, string|string[]> $headers those of the request: `getallheaders()`, or `$request->getHeaders()` of PSR-7
     * @param string $body its body, byte for byte: `file_get_contents('php://input')`
     * @throws WebhookRefused
     */
    public static function verify(array $headers, string $body, string $key): WebhookEvent
    {
        $headers = array_change_key_case($headers);
        $header = fn (string $name): string => is_array($headers[$name] ?? '') ? ($headers[$name][0] ?? '') : $headers[$name] ?? '';
        [$id, $timestamp, $signatures] = array_map($header, ['webhook-id', 'webhook-timestamp', 'webhook-signature']);
        if ($id === '' || !ctype_digit($timestamp) || $signatures === '') {
            throw new WebhookRefused('the request has not the headers of a webhook');
        }
        if (abs(time() - (int) $timestamp) > self::TOLERANCE) {
            throw new WebhookRefused('the webhook is too old, or of the future');
        }
        $secret = base64_decode(preg_replace('/^whsec_/', '', $key), true);
        if ($secret === false || $secret === '') {
            throw new WebhookRefused('the key is none of an endpoint');
        }
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $secret, true));
        foreach (explode(' ', $signatures) as $known) {
            if (hash_equals($expected, $known)) {
                $type = json_decode($body, true)['type'] ?? '';
                return ObjectSerializer::deserialize($body, KnownEvents::CLASSES[$type] ?? Model\Event::class);
            }
        }
        throw new WebhookRefused('the signature does not fit');
    }
}
