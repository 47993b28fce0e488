package cardpayments.client;

import java.io.IOException;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpResponse.PushPromiseHandler;
import java.net.http.HttpResponse.ResponseInfo;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;

/**
 * Repeats a request whose connection is lost, and one that is answered by 429, by a status over 499, or by a 409 with Retry-After. A
 * change has one Idempotency-Key for all its tries, so it happens once. An upload is sent once: its body is a stream. Throws an
 * {@link ApiException} with that key if there is no response.
 */
public class RetryingClient extends HttpClient {
    private static final int TRIES = 5;
    private static final long FIRST_PAUSE = 250;
    /** In milliseconds. A server that asks for a longer pause gets no further request. */
    private static final long LONGEST_PAUSE = 30_000;
    /** Of a try whose request has no timeout. */
    static final Duration TIMEOUT = Duration.ofSeconds(70);

    private final HttpClient client;

    /** Repeats the requests that another client sends. */
    public RetryingClient(HttpClient client) {
        this.client = client;
    }

    @Override
    public <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler) {
        var identified = identify(request);
        try {
            return new Received<>(repeat(identified), handler);
        } catch (IOException lost) {
            throw new ApiException(lost, key(identified));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new ApiException(interrupted, key(identified));
        }
    }

    private HttpResponse<byte[]> repeat(HttpRequest request) throws IOException, InterruptedException {
        var tries = request.headers().firstValue("Content-Type").filter(type -> type.startsWith("multipart/")).isPresent() ? 1 : TRIES;
        for (var number = 0; ; number++) {
            var isLast = number == tries - 1;
            var pause = backOff(number);
            try {
                var response = once(request);
                pause = Math.max(pause, retryAfter(response).orElse(0));
                if (isLast || pause > LONGEST_PAUSE || !repeats(response)) {
                    return response;
                }
            } catch (IOException lost) {
                if (isLast) {
                    throw lost;
                }
            }
            Thread.sleep(pause);
        }
    }

    /** The whole response, because it can be cut off, too. Before Java 26 the timeout of a request ends at the headers. */
    private HttpResponse<byte[]> once(HttpRequest request) throws IOException, InterruptedException {
        var limit = request.timeout().orElse(TIMEOUT);
        var response = client.sendAsync(request, BodyHandlers.ofByteArray());
        try {
            return response.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof IOException lost ? lost : new IOException(failed.getCause());
        } catch (TimeoutException late) {
            throw new HttpTimeoutException("there was no whole response within " + limit.toSeconds() + " s");
        } finally {
            // Ends a request that has no response.
            response.cancel(true);
        }
    }

    /** The Idempotency-Key of a request, null if it has none. */
    static String key(HttpRequest request) {
        return request.headers().firstValue("Idempotency-Key").orElse(null);
    }

    private static HttpRequest identify(HttpRequest request) {
        if (!Set.of("POST", "PUT", "DELETE").contains(request.method()) || key(request) != null) {
            return request;
        }
        return HttpRequest.newBuilder(request, (name, value) -> true).header("Idempotency-Key", UUID.randomUUID().toString()).build();
    }

    private static boolean repeats(HttpResponse<?> response) {
        var status = response.statusCode();
        return status == 429 || status >= 500 || (status == 409 && retryAfter(response).isPresent());
    }

    /** What the server asks for, in milliseconds. */
    private static OptionalLong retryAfter(HttpResponse<?> response) {
        var seconds = response.headers().firstValue("Retry-After").filter(value -> value.matches("\\d{1,9}"));
        return seconds.isPresent() ? OptionalLong.of(1000 * Long.parseLong(seconds.get())) : OptionalLong.empty();
    }

    /** Milliseconds that double with each try, half of them at random. */
    private static long backOff(int number) {
        return (long) ((FIRST_PAUSE << number) * ThreadLocalRandom.current().nextDouble(0.5, 1));
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, BodyHandler<T> handler) {
        return CompletableFuture.supplyAsync(() -> send(request, handler));
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, BodyHandler<T> handler, PushPromiseHandler<T> pushed) {
        return sendAsync(request, handler);
    }

    @Override
    public Optional<CookieHandler> cookieHandler() {
        return client.cookieHandler();
    }

    @Override
    public Optional<Duration> connectTimeout() {
        return client.connectTimeout();
    }

    @Override
    public Redirect followRedirects() {
        return client.followRedirects();
    }

    @Override
    public Optional<ProxySelector> proxy() {
        return client.proxy();
    }

    @Override
    public SSLContext sslContext() {
        return client.sslContext();
    }

    @Override
    public SSLParameters sslParameters() {
        return client.sslParameters();
    }

    @Override
    public Optional<Authenticator> authenticator() {
        return client.authenticator();
    }

    @Override
    public Version version() {
        return client.version();
    }

    @Override
    public Optional<Executor> executor() {
        return client.executor();
    }

    /** A response that is here, with the body that a handler makes of it. */
    private static final class Received<T> implements HttpResponse<T>, ResponseInfo {
        private final HttpResponse<byte[]> response;
        private final T body;

        Received(HttpResponse<byte[]> response, BodyHandler<T> handler) {
            this.response = response;
            var subscriber = handler.apply(this);
            subscriber.onSubscribe(new Flow.Subscription() {
                @Override
                public void request(long number) {
                    // All of it comes at once.
                }

                @Override
                public void cancel() {
                    // It has been received.
                }
            });
            subscriber.onNext(List.of(ByteBuffer.wrap(response.body())));
            subscriber.onComplete();
            this.body = subscriber.getBody().toCompletableFuture().join();
        }

        @Override
        public int statusCode() {
            return response.statusCode();
        }

        @Override
        public HttpRequest request() {
            return response.request();
        }

        @Override
        public Optional<HttpResponse<T>> previousResponse() {
            return Optional.empty();
        }

        @Override
        public HttpHeaders headers() {
            return response.headers();
        }

        @Override
        public T body() {
            return body;
        }

        @Override
        public Optional<SSLSession> sslSession() {
            return response.sslSession();
        }

        @Override
        public URI uri() {
            return response.uri();
        }

        @Override
        public Version version() {
            return response.version();
        }
    }
}
