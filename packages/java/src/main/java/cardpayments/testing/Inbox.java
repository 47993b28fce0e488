package cardpayments.testing;

import static cardpayments.testing.Server.text;

import com.google.gson.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Receives an account's webhooks inside the server, which verifies their signatures. Waits take whole seconds, at most 30. */
public final class Inbox {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Account account;
    private final String url;
    private final String path;
    private final Set<String> taken = ConcurrentHashMap.newKeySet();

    Inbox(Account account) {
        var inbox = account.request("POST", "/1/sandbox/inboxes", Map.of()).getAsJsonObject();
        this.account = account;
        url = text(inbox, "url");
        path = "/1/sandbox/inboxes/" + text(inbox, "token");
        account.request("POST", "/1/webhook_endpoints", Map.of("url", url));
    }

    /** Returns the inbox's address. */
    public String url() {
        return url;
    }

    /** Orders the answer from the next delivery on: status, latency_ms, fault (hang or reset), every (only each nth). */
    public JsonObject answer(Map<String, ?> answer) {
        return account.request("PUT", path, answer).getAsJsonObject();
    }

    /** Returns the last 1,000 deliveries so far, the oldest first. */
    public List<JsonObject> deliveries() {
        return read("");
    }

    /**
     * Returns the last 1,000 deliveries, the oldest first, once there are so many, or after ten seconds with fewer. Each has number,
     * headers, body, signature (valid, invalid or missing) and its answer.
     */
    public List<JsonObject> deliveries(int count) {
        return deliveries(count, PATIENCE);
    }

    private List<JsonObject> deliveries(int count, Duration patience) {
        return read(count == 0 ? "" : "&count=" + count + "&wait=" + patience.plusNanos(999_999_999).toSeconds());
    }

    private List<JsonObject> read(String wait) {
        var deliveries = page(wait);
        if (deliveries.size() == 500) {
            var last = number(deliveries.get(499));
            page("&page=2").stream().filter(delivery -> number(delivery) < last).forEach(deliveries::add);
        }
        Collections.reverse(deliveries);
        return deliveries;
    }

    private List<JsonObject> page(String parameters) {
        var deliveries = new ArrayList<JsonObject>();
        var page = account.request("GET", path + "/deliveries?per_page=500" + parameters).getAsJsonArray();
        page.forEach(delivery -> deliveries.add(delivery.getAsJsonObject()));
        return deliveries;
    }

    private static int number(JsonObject delivery) {
        return delivery.get("number").getAsInt();
    }

    /** Returns the next signed event of a type, each once. Fails once nothing arrives for ten seconds. */
    public JsonObject waitFor(String type) {
        return waitFor(type, PATIENCE);
    }

    /** Returns the next signed event of a type, each once. Fails once nothing arrives for so long. */
    public JsonObject waitFor(String type, Duration patience) {
        for (var count = 1; ; ) {
            var types = new ArrayList<String>();
            var received = 0;
            for (var delivery : deliveries(count, patience)) {
                received = Math.max(received, number(delivery));
                if (!text(delivery, "signature").equals("valid")) {
                    continue;
                }
                var event = ApiClient.GSON.fromJson(text(delivery, "body"), JsonObject.class);
                types.add(text(event, "type"));
                if (text(event, "type").equals(type) && taken.add(text(event, "token"))) {
                    return event;
                }
            }
            // The inbox keeps no more, and more cannot be waited for.
            if (received < count || received >= 1000) {
                throw new AssertionError("no " + type + " within " + patience.toMillis() + " ms, but " + types);
            }
            count = received + 1;
        }
    }
}
