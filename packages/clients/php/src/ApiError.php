<?php

namespace CardPayments\Client;

use Psr\Http\Message\ResponseInterface;

/** The server refused a request. If there was no response at all, operations throw a NoResponse. */
final class ApiError extends \RuntimeException
{
    private function __construct(
        public readonly ErrorKind $kind,
        /** The status of the response. */
        public readonly int $status,
        /** The error code, null if the response is none of this server; docs/errors.md lists them. */
        public readonly ?string $errorCode,
        /** The sentence of the code. */
        public readonly ?string $description,
        /** @var list<array{param: string, code?: string, message: string}> One for each fault of a parameter. */
        public readonly array $messages,
        /** X-Request-Id of the response. */
        public readonly ?string $requestId,
        /** The Idempotency-Key that was sent, null if the request changes nothing. */
        public readonly ?string $idempotencyKey,
        /** The charge that was refused or declined. */
        public readonly ?string $chargeToken,
    ) {
        parent::__construct("$status $errorCode: $description (request $requestId)");
    }

    public static function fromResponse(ResponseInterface $response, ?string $idempotencyKey): self
    {
        $body = json_decode((string) $response->getBody(), true);
        // insufficient_service_balance comes in a list.
        $body = is_array($body) && array_is_list($body) && $body !== [] ? $body[0] : $body;
        $body = is_array($body) ? $body : [];
        $status = $response->getStatusCode();
        return new self(
            ErrorKind::of($status, $body['error'] ?? null),
            $status,
            $body['error'] ?? null,
            $body['error_description'] ?? null,
            $body['messages'] ?? [],
            $response->getHeader('X-Request-Id')[0] ?? null,
            $idempotencyKey,
            $body['charge_token'] ?? null,
        );
    }
}
