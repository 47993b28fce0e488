package cardpayments.testing;

import static cardpayments.testing.Server.text;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An account that nothing else uses. */
public final class Account implements AutoCloseable {
    private final Server server;
    private final ApiClient client;
    private final String token;
    private final String publishableKey;

    Account(Server server, JsonObject account) {
        this.server = server;
        client = new ApiClient(server.url(), text(account, "secret_key"));
        token = text(account, "token");
        publishableKey = text(account, "publishable_key");
    }

    /** Returns the server's address. */
    public String url() {
        return client.url;
    }

    /** Returns the account's token. */
    public String token() {
        return token;
    }

    /** Returns its secret key. */
    public String secretKey() {
        return client.secretKey;
    }

    /** Returns its publishable key. */
    public String publishableKey() {
        return publishableKey;
    }

    /** Sends a request without a body, and returns the record of the response. */
    public JsonElement request(String method, String path) {
        return client.request(method, path, null);
    }

    /** Sends a request with a body that Gson writes, such as a map, and returns the record of the response. */
    public JsonElement request(String method, String path, Object body) {
        return client.request(method, path, body);
    }

    /** Moves the account's clock ahead by a span such as "7d", and returns all that was due on the way. */
    public List<JsonObject> moveClock(String span) {
        return moveClock(Map.of("advance", span));
    }

    /** Moves the account's clock ahead to a time such as "2030-01-01", and returns all that was due on the way. */
    public List<JsonObject> moveClockTo(String time) {
        return moveClock(Map.of("to", time));
    }

    private List<JsonObject> moveClock(Map<String, String> move) {
        var ran = new ArrayList<JsonObject>();
        for (;;) {
            var moved = request("PUT", "/1/sandbox/clock", move).getAsJsonObject();
            moved.getAsJsonArray("ran").forEach(item -> ran.add(item.getAsJsonObject()));
            if (moved.get("complete").getAsBoolean()) {
                return ran;
            }
            move = Map.of("to", text(moved, "to"));
        }
    }

    /** Orders faults of the acquirer: decline, latency_ms, gateway_error_rate, drop_rate, seed. */
    public JsonObject setFaults(Map<String, ?> faults) {
        return request("PUT", "/1/sandbox/acquirer", faults).getAsJsonObject();
    }

    /** Registers a receiver of webhooks inside the server. It is deleted with the account. */
    public Inbox openInbox() {
        return new Inbox(this);
    }

    /** Deletes the account with all that it holds. */
    @Override
    public void close() {
        server.request("DELETE", "/1/sandbox/accounts/" + token);
    }
}
