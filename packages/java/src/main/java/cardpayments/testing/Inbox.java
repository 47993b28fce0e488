package cardpayments.testing;

import static cardpayments.testing.Server.text;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Receives an account's webhooks on a free port of 127.0.0.1, and verifies their signatures. */
public final class Inbox implements AutoCloseable {
    private final HttpServer server;
    private final SecretKeySpec key;
    private final List<JsonObject> events = new ArrayList<>();
    private final Set<String> ids = new HashSet<>();
    private final Set<String> taken = new HashSet<>();

    /** Opens an inbox at an address that register tells the server; it returns the key. */
    Inbox(UnaryOperator<String> register) {
        // What arrives meanwhile waits for the key.
        synchronized (this) {
            try {
                server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            server.createContext("/", this::answer);
            startAsDaemon();
            try {
                var text = register.apply(url()).replaceFirst("^whsec_", "");
                key = new SecretKeySpec(Base64.getDecoder().decode(text), "HmacSHA256");
            } catch (RuntimeException error) {
                close();
                throw error;
            }
        }
    }

    /** Starts the server's thread. It is a daemon, as the thread that starts it: a test run that forgets the inbox ends. */
    private void startAsDaemon() {
        var starter = new Thread(server::start);
        starter.setDaemon(true);
        starter.start();
        try {
            starter.join();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns the inbox's address. */
    public String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/";
    }

    /** Returns all events so far, in the order of their arrival. */
    public synchronized List<JsonObject> events() {
        return List.copyOf(events);
    }

    /** Returns the next event of a type, each event once. Fails if none arrives in ten seconds. */
    public JsonObject waitFor(String type) {
        return waitFor(type, Duration.ofSeconds(10));
    }

    /** Returns the next event of a type, each event once. Fails if none arrives in time. */
    public synchronized JsonObject waitFor(String type, Duration patience) {
        var end = System.nanoTime() + patience.toNanos();
        for (;;) {
            for (var event : events) {
                if (text(event, "type").equals(type) && taken.add(text(event, "token"))) {
                    return event;
                }
            }
            var left = end - System.nanoTime();
            if (left <= 0) {
                var types = events.stream().map(event -> text(event, "type")).toList();
                throw new AssertionError("no " + type + " within " + patience.toMillis() + " ms, but " + types);
            }
            try {
                TimeUnit.NANOSECONDS.timedWait(this, left);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new AssertionError("the wait for " + type + " was interrupted", error);
            }
        }
    }

    /** Closes the port. */
    @Override
    public void close() {
        server.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        var body = exchange.getRequestBody().readAllBytes();
        exchange.sendResponseHeaders(receive(exchange.getRequestHeaders(), body) ? 204 : 400, -1);
        exchange.close();
    }

    private synchronized boolean receive(Headers headers, byte[] body) {
        var id = headers.getFirst("webhook-id");
        var signature = ("v1," + sign(id + "." + headers.getFirst("webhook-timestamp") + ".", body)).getBytes(UTF_8);
        var isSigned = false;
        for (var known : String.valueOf(headers.getFirst("webhook-signature")).split(" ")) {
            isSigned |= MessageDigest.isEqual(known.getBytes(UTF_8), signature);
        }
        // A repeated delivery is no second event.
        if (isSigned && ids.add(id)) {
            events.add(ApiClient.GSON.fromJson(new String(body, UTF_8), JsonObject.class));
            notifyAll();
        }
        return isSigned;
    }

    private String sign(String head, byte[] body) {
        try {
            var mac = Mac.getInstance(key.getAlgorithm());
            mac.init(key);
            mac.update(head.getBytes(UTF_8));
            return Base64.getEncoder().encodeToString(mac.doFinal(body));
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }
}
