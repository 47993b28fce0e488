<?php

namespace CardPayments\Client;

use GuzzleHttp\Client as HttpClient;
use GuzzleHttp\Exception\TransferException;
use GuzzleHttp\HandlerStack;
use GuzzleHttp\Middleware;
use GuzzleHttp\Promise\PromiseInterface;
use GuzzleHttp\Utils;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;

/**
 * A client of the account that a key is of: `$client->api(Api\ChargesApi::class)->createCharge($order)`.
 *
 * Repeats a request whose connection is lost, and one that is answered by 429, by a status over 499, or by a 409 with Retry-After. A
 * change has one Idempotency-Key for all its tries, so it happens once.
 */
final class Client
{
    private const TRIES = 5;
    /** In milliseconds. A server that asks for a longer pause gets no further request. */
    private const FIRST_PAUSE = 250;
    private const LONGEST_PAUSE = 30_000;

    private readonly HttpClient $http;
    private readonly Configuration $configuration;

    /** @param float $timeout the seconds that each request waits for a response at most */
    public function __construct(string $url, string $secretKey, float $timeout = 70)
    {
        // The first one sees a request first, and its response last.
        $handler = new HandlerStack(Utils::chooseHandler());
        $handler->push(Middleware::mapRequest(self::identify(...)));
        $handler->push(self::accept(...));
        $handler->push(Middleware::retry(self::repeats(...), self::pause(...)));
        $handler->push(Middleware::prepareBody());
        $this->http = new HttpClient(['handler' => $handler, 'timeout' => $timeout]);
        $this->configuration = (new Configuration())->setHost(rtrim($url, '/'))->setUsername($secretKey)->setPassword('');
    }

    /**
     * The operations of a section.
     *
     * @template T of object
     * @param class-string<T> $section a class of CardPayments\Client\Api
     * @return T
     */
    public function api(string $section): object
    {
        return new $section($this->http, $this->configuration);
    }

    /**
     * All items of a list, page after page: `Client::items(fn (int $page) => $charges->listCharges($page, 100))`.
     *
     * @param callable(int): object $get returns the page of a number
     */
    public static function items(callable $get): \Generator
    {
        for ($number = 1; ; $number++) {
            $page = $get($number);
            foreach ($page->getResponse() as $item) {
                yield $item;
            }
            if ($number * $page->getPagination()->getPerPage() >= $page->getPagination()->getCount()) {
                return;
            }
        }
    }

    private static function identify(RequestInterface $request): RequestInterface
    {
        $changes = in_array($request->getMethod(), ['POST', 'PUT', 'DELETE'], true);
        return $changes && !$request->hasHeader('Idempotency-Key')
            ? $request->withHeader('Idempotency-Key', bin2hex(random_bytes(16)))
            : $request;
    }

    /** A middleware that throws for what is no success, with the key that was sent. */
    private static function accept(callable $send): callable
    {
        return function (RequestInterface $request, array $options) use ($send): PromiseInterface {
            $key = $request->getHeader('Idempotency-Key')[0] ?? null;
            return $send($request, $options)->then(
                fn (ResponseInterface $response) =>
                    $response->getStatusCode() < 300 ? $response : throw ApiError::fromResponse($response, $key),
                fn (\Throwable $lost) =>
                    throw $lost instanceof TransferException ? new NoResponse($lost->getMessage(), $key) : $lost,
            );
        };
    }

    private static function repeats(int $number, RequestInterface $request, ?ResponseInterface $response, ?\Throwable $lost): bool
    {
        if ($number >= self::TRIES - 1) {
            return false;
        }
        if ($response === null) {
            return $lost instanceof TransferException;
        }
        $status = $response->getStatusCode();
        $wanted = self::retryAfter($response);
        return ($status === 429 || $status >= 500 || ($status === 409 && $wanted !== null)) && ($wanted ?? 0) <= self::LONGEST_PAUSE;
    }

    /** Milliseconds that double with each try, half of them at random, or as many as the server wants. */
    private static function pause(int $number, ?ResponseInterface $response): int
    {
        $pause = (int) (self::FIRST_PAUSE * 2 ** ($number - 1) * random_int(50, 100) / 100);
        return max($pause, $response === null ? 0 : self::retryAfter($response) ?? 0);
    }

    private static function retryAfter(ResponseInterface $response): ?int
    {
        $seconds = $response->getHeaderLine('Retry-After');
        return ctype_digit($seconds) ? 1000 * (int) $seconds : null;
    }
}
