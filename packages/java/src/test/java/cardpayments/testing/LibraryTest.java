package cardpayments.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The library, against the program. */
@ExtendWith(CardPaymentsExtension.class)
class LibraryTest {
    static final Map<String, ?> PLAN = Map.of("name", "Tea", "amount", 1000, "interval", 1, "interval_unit", "month");

    private static List<String> names(JsonElement plans) {
        return StreamSupport.stream(plans.getAsJsonArray().spliterator(), false)
                .map(plan -> plan.getAsJsonObject().get("name").getAsString())
                .toList();
    }

    @Test
    void eachAccountHasRecordsOfItsOwnUntilItIsClosed(Server server) {
        var one = server.createAccount();
        try (one; var other = server.createAccount()) {
            one.request("POST", "/1/plans", PLAN);
            assertEquals(List.of("Tea"), names(one.request("GET", "/1/plans")));
            assertEquals(new JsonArray(), other.request("GET", "/1/plans"));
            assertTrue(one.publishableKey().startsWith("pk_"));
        }
        var gone = assertThrows(ApiException.class, () -> one.request("GET", "/1/plans"));
        assertEquals("401 unauthorized", gone.status() + " " + gone.code());
    }

    @Test
    void anErrorSaysWhatWasRefused(Account account) {
        var refused = assertThrows(ApiException.class, () -> account.request("POST", "/1/plans", Map.of()));
        var message = refused.getMessage();
        assertTrue(message.startsWith("POST /1/plans: 422 unprocessable_entity: Validation failure"), message);
        assertTrue(refused.body().getAsJsonObject().has("messages"));
    }

    @Test
    void aClockIsMovedByASpanOrToATime(Account account) {
        account.moveClock("1d");
        assertEquals(List.of(), account.moveClockTo("2090-01-01"));
        var now = account.request("GET", "/1/sandbox/clock").getAsJsonObject().get("now").getAsString();
        assertTrue(now.startsWith("2090-01-01"), now);
    }

    @Test
    void anInboxGivesEventsThatAreSignedAndShowsAllThatArrives(Account account) throws Exception {
        var inbox = account.openInbox();
        assertEquals(List.of(), inbox.deliveries());
        var event = BodyPublishers.ofString("{\"type\": \"plan.created\", \"token\": \"evt_1\"}");
        var forged = HttpRequest.newBuilder(URI.create(inbox.url())).POST(event);
        forged.headers("webhook-id", "evt_1", "webhook-timestamp", "0", "webhook-signature", "v1,AAAA");
        HttpClient.newHttpClient().send(forged.build(), BodyHandlers.discarding());
        account.request("POST", "/1/plans", PLAN);
        assertEquals("Tea", inbox.waitFor("plan.created").getAsJsonObject("data").get("name").getAsString());
        var late = assertThrows(AssertionError.class, () -> inbox.waitFor("plan.created", Duration.ZERO));
        assertEquals("no plan.created within 0 ms, but [plan.created]", late.getMessage());
        assertEquals(List.of("invalid", "valid"), each(inbox.deliveries(2), "signature"));
    }

    @Test
    void anInboxAnswersAsOrdered(Account account) {
        var inbox = account.openInbox();
        inbox.answer(Map.of("status", 503, "every", 2));
        for (var name : List.of("Tea", "Milk")) {
            var plan = new HashMap<String, Object>(PLAN);
            plan.put("name", name);
            account.request("POST", "/1/plans", plan);
            assertEquals(name, inbox.waitFor("plan.created").getAsJsonObject("data").get("name").getAsString());
        }
        assertEquals(List.of("200", "503"), each(inbox.deliveries(), "status"));
    }

    private static List<String> each(List<JsonObject> records, String field) {
        return records.stream().map(record -> record.get(field).getAsString()).toList();
    }

    @Test
    void aServerHasFixturesAndALogAndEnds(@TempDir Path folder) throws IOException {
        var fixtures = Files.writeString(folder.resolve("shop.yaml"), "plans:\n  tea: { name: Tea, amount: 1000, every: month }\n");
        var log = folder.resolve("server.log");
        var own = Server.start(new Options().withFixtures(fixtures).withLog(log));
        var again = Server.connect(own.url() + "/", own.secretKey());
        assertEquals(List.of("Tea"), names(again.request("GET", "/1/plans")));
        own.close();
        own.close();
        assertThrows(UncheckedIOException.class, () -> again.request("GET", "/1/plans"));
        assertTrue(Files.readString(log).contains("\"/1/plans\""));
    }

    @Test
    void aServerThatDoesNotStartIsAnError(@TempDir Path folder) throws IOException {
        var fixtures = Files.writeString(folder.resolve("shop.yaml"), "plants:\n");
        var wrong = new Options().withFixtures(fixtures);
        assertEquals("card-payments did not start: exit code 1",
                assertThrows(IllegalStateException.class, () -> Server.start(wrong)).getMessage());
        var missing = new Options().withProgram("/nowhere/card-payments");
        assertThrows(UncheckedIOException.class, () -> Server.start(missing));
    }
}
