<?php

namespace CardPayments\Client;

/** What programs tell apart. */
enum ErrorKind
{
    /** The card was declined; nothing was charged. */
    case CardDeclined;
    /** Parameters are missing or invalid; `messages` has each. */
    case InvalidResource;
    /** The key is none of the account. */
    case Unauthorized;
    /** There is no such record. */
    case NotFound;
    /** Another request is still in flight. */
    case Conflict;
    /** There were too many requests. */
    case RateLimited;
    /** The server or the acquirer failed, and repeating did not help: repeat the request later, under the error's `idempotencyKey`. */
    case ServerError;
    /** Another refusal: its code says which. */
    case Other;

    private const DECLINES = [
        'card_declined', 'insufficient_funds', 'invalid_cvv', 'invalid_card', 'processing_error', 'suspected_fraud', 'expired_card',
        'lost_card', 'stolen_card', 'unknown',
    ];

    /** The kind of a response. */
    public static function of(int $status, ?string $code): self
    {
        return match (true) {
            in_array($code, self::DECLINES, true) => self::CardDeclined,
            in_array($code, ['invalid_resource', 'unprocessable_entity'], true) => self::InvalidResource,
            $status >= 500 => self::ServerError,
            default => match ($status) {
                401 => self::Unauthorized,
                404 => self::NotFound,
                409 => self::Conflict,
                429 => self::RateLimited,
                default => self::Other,
            },
        };
    }
}
