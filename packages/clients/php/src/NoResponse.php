<?php

namespace CardPayments\Client;

/** The connection was lost, and repeating did not help: repeat the request later, under this `idempotencyKey`. */
final class NoResponse extends ApiException
{
    public function __construct(
        string $message,
        /** The Idempotency-Key that was sent, null if the request changes nothing. */
        public readonly ?string $idempotencyKey,
    ) {
        parent::__construct($message);
    }
}
