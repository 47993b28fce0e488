// The client against a real server: see packages/clients/beside.py.
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import cardpayments.client.ApiException;
import cardpayments.client.Client;
import cardpayments.client.Items;
import cardpayments.client.WebhookEvent;
import cardpayments.client.Webhooks;
import cardpayments.client.api.CardsApi;
import cardpayments.client.api.CardsApi.APICreateCardRequest;
import cardpayments.client.api.ChargesApi;
import cardpayments.client.api.ChargesApi.APICaptureChargeRequest;
import cardpayments.client.api.ChargesApi.APICreateChargeRequest;
import cardpayments.client.api.ChargesApi.APIGetChargeRequest;
import cardpayments.client.api.ChargesApi.APIListChargesRequest;
import cardpayments.client.api.PlansApi;
import cardpayments.client.api.PlansApi.APICreatePlanRequest;
import cardpayments.client.api.PlansApi.APIListPlansRequest;
import cardpayments.client.api.RefundsApi;
import cardpayments.client.api.RefundsApi.APICreateRefundRequest;
import cardpayments.client.model.BrowserCardInput;
import cardpayments.client.model.CardInput;
import cardpayments.client.model.Charge;
import cardpayments.client.model.ChargeCapturedEvent;
import cardpayments.client.model.ChargeInput;
import cardpayments.client.model.ChargeMade;
import cardpayments.client.model.Event;
import cardpayments.client.model.IntervalUnit;
import cardpayments.client.model.Plan;
import cardpayments.client.model.PlanInput;
import cardpayments.client.model.RefundInput;
import cardpayments.client.model.ThreeDSecureInput;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

class ClientTest {
    static final Client CLIENT = new Client(System.getenv("SERVER"), System.getenv("KEY"));
    static final ChargesApi CHARGES = new ChargesApi(CLIENT);

    static ChargeInput order(long amount) {
        var card = new CardInput().number("4200000000000000").expiryMonth(12L).expiryYear(2099L).cvc("123").name("Roland Robot")
                .addressLine1("42 Sevenoaks St").addressCity("Lathlain").addressCountry("AU");
        return new ChargeInput().email("roland@example.com").description("Order").amount(amount).ipAddress("203.192.1.172").card(card);
    }

    static APICreateChargeRequest.Builder request(ChargeInput order) {
        return APICreateChargeRequest.newBuilder().chargeInput(order);
    }

    static ChargeMade charge(ChargesApi charges, long amount) {
        return charges.createCharge(request(order(amount)).build()).getResponse();
    }

    /** The tokens of the successful charges, newest first. */
    static List<String> charges() {
        return StreamSupport.stream(Items.of(page -> CHARGES.listCharges(APIListChargesRequest.newBuilder().page(page).perPage(2L).build())).spliterator(), false)
                .filter(Charge::getSuccess).map(Charge::getToken).collect(Collectors.toList());
    }

    static List<String> joined(List<String> first, List<String> then) {
        return Stream.concat(first.stream(), then.stream()).collect(Collectors.toList());
    }

    @Test
    void aCardIsStoredChargedCapturedAndRefunded() {
        var stored = new BrowserCardInput().number("4200000000000000").expiryMonth(12L).expiryYear(2099L).cvc("123").name("Roland Robot")
                .addressLine1("42 Sevenoaks St").addressCity("Lathlain").addressCountry("AU");
        var card = new CardsApi(CLIENT).createCard(APICreateCardRequest.newBuilder().browserCardInput(stored).build()).getResponse();
        var order = order(400).card(null).cardToken(card.getToken()).capture(false);
        var charge = CHARGES.createCharge(request(order).build()).getResponse();
        assertFalse(charge.getCaptured());
        var capture = APICaptureChargeRequest.newBuilder().chargeToken(charge.getToken()).build();
        assertTrue(CHARGES.captureCharge(capture).getResponse().getCaptured());
        var part = APICreateRefundRequest.newBuilder().chargeToken(charge.getToken()).refundInput(new RefundInput().amount(100L)).build();
        var refund = new RefundsApi(CLIENT).createRefund(part).getResponse();
        assertEquals(List.of(charge.getToken(), 100L), List.of(refund.getCharge(), refund.getAmount()));
    }

    @Test
    void aListGivesTheItemsOfAllPages() {
        var before = charges();
        var made = new ArrayList<String>();
        for (var amount : List.of(100L, 200L, 300L)) {
            made.add(0, charge(CHARGES, amount).getToken());
        }
        assertEquals(joined(made, before), charges());
        var plans = new PlansApi(CLIENT);
        for (var name : List.of("One", "Two")) {
            var monthly = new PlanInput().name(name).amount(1000L).interval(1L).intervalUnit(IntervalUnit.MONTH);
            plans.createPlan(APICreatePlanRequest.newBuilder().planInput(monthly).build());
        }
        var names = new ArrayList<String>();
        for (Plan plan : Items.of(page -> plans.listPlans(APIListPlansRequest.newBuilder().page(page).perPage(1L).build()))) {
            names.add(plan.getName());
        }
        assertEquals(List.of("Two", "One"), names);
    }

    @Test
    void aChargeWhoseConnectionIsCutIsMadeOnce() {
        var before = charges();
        var charge = charge(new ChargesApi(new Client(System.getenv("CUT"), System.getenv("KEY"))), 400);
        assertEquals(joined(List.of(charge.getToken()), before), charges());
    }

    @Test
    void aChargeWithoutAResponseIsRepeatedUnderTheKeyOfItsError() {
        var before = charges();
        var cut = new ChargesApi(new Client(System.getenv("LOST"), System.getenv("KEY")));
        var lost = assertThrows(ApiException.class, () -> charge(cut, 400));
        assertEquals(ApiException.Kind.NO_RESPONSE, lost.kind());
        var charge = CHARGES.createCharge(request(order(400)).idempotencyKey(lost.idempotencyKey()).build()).getResponse();
        assertEquals(joined(List.of(charge.getToken()), before), charges());
    }

    @Test
    void aResponseThatStopsInItsBodyIsLost() throws Exception {
        try (var stopping = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
            CompletableFuture.runAsync(() -> {
                // Each connection stays open.
                var connections = new ArrayList<Socket>();
                while (!stopping.isClosed()) {
                    try {
                        connections.add(stopping.accept());
                        var answer = connections.get(connections.size() - 1).getOutputStream();
                        answer.write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{".getBytes(UTF_8));
                    } catch (IOException closed) {
                        return;
                    }
                }
            });
            var client = new Client("http://127.0.0.1:" + stopping.getLocalPort(), "sk_test_nobody");
            client.setReadTimeout(Duration.ofMillis(200));
            var lost = assertThrows(ApiException.class, () -> charge(new ChargesApi(client), 400));
            assertInstanceOf(HttpTimeoutException.class, lost.getCause());
            assertNotNull(lost.idempotencyKey());
        }
    }

    @Test
    void aChargeThatWasApprovedButLostIsMadeOnce() {
        var before = charges();
        var lose = request(order(400)).sandboxOutcome("approved_but_lost").idempotencyKey("lost").build();
        var lost = assertThrows(ApiException.class, () -> CHARGES.createCharge(lose));
        assertEquals(
                List.of(ApiException.Kind.SERVER_ERROR, 502, "gateway_error", "lost"),
                List.of(lost.kind(), lost.status(), lost.code(), lost.idempotencyKey()));
        var repeat = request(order(400)).idempotencyKey("lost").build();
        var charge = CHARGES.createCharge(repeat).getResponse();
        var again = CHARGES.createCharge(repeat).getResponse();
        assertEquals(charge.getToken(), again.getToken());
        assertEquals(joined(List.of(charge.getToken()), before), charges());
    }

    @Test
    void aRefusalIsOfItsKind() {
        var decline = request(order(400)).sandboxOutcome("insufficient_funds").build();
        var declined = assertThrows(ApiException.class, () -> CHARGES.createCharge(decline));
        assertEquals(ApiException.Kind.CARD_DECLINED, declined.kind());
        assertEquals(List.of(400, "insufficient_funds"), List.of(declined.status(), declined.code()));
        assertNotNull(declined.requestId());
        assertTrue(declined.chargeToken().startsWith("ch_"));
        var invalid = assertThrows(ApiException.class, () -> charge(CHARGES, 0));
        assertEquals(ApiException.Kind.INVALID_RESOURCE, invalid.kind());
        assertEquals("amount", invalid.messages().get(0).getParam());
        var nameless = new PlanInput().name(" ").amount(400L).interval(1L).intervalUnit(IntervalUnit.MONTH);
        var plan = APICreatePlanRequest.newBuilder().planInput(nameless).build();
        var refused = assertThrows(ApiException.class, () -> new PlansApi(CLIENT).createPlan(plan));
        assertEquals(ApiException.Kind.INVALID_RESOURCE, refused.kind());
        var unknown = APIGetChargeRequest.newBuilder().chargeToken("ch_AAAAAAAAAAAAAAAAAAAAAA").build();
        var missing = assertThrows(ApiException.class, () -> CHARGES.getCharge(unknown));
        assertEquals(ApiException.Kind.NOT_FOUND, missing.kind());
        var stranger = new ChargesApi(new Client(System.getenv("SERVER"), "sk_test_nobody"));
        assertEquals(ApiException.Kind.UNAUTHORIZED, assertThrows(ApiException.class, () -> stranger.getCharge(unknown)).kind());
    }

    @Test
    void aChargeWith3DSecureIsPending() {
        var order = order(400).threeDSecure(new ThreeDSecureInput().enabled(true).callbackUrl("http://127.0.0.1/back"));
        var pending = CHARGES.createCharge(request(order).build()).getResponse();
        assertEquals("Pending", pending.getStatusMessage());
        assertTrue(pending.getRedirectUrl().contains("/3d-secure/"), pending.getRedirectUrl());
    }

    @Test
    void aWebhookIsVerified() throws Exception {
        var webhook = new ObjectMapper().readTree(Path.of(System.getenv("WEBHOOK")).toFile());
        var headers = new ObjectMapper().convertValue(webhook.get("headers"), Map.class);
        var body = webhook.get("body").asText();
        var key = webhook.get("key").asText();
        var event = Webhooks.verify(name -> (String) headers.get(name), body.getBytes(UTF_8), key);
        assertEquals("charge.captured", event.getType().toString());
        var captured = assertInstanceOf(ChargeCapturedEvent.class, event);
        assertTrue(captured.getData().getToken().startsWith("ch_"));
        for (var sent : webhook.get("events")) {
            assertFalse(verified(sent, key) instanceof Event, sent.toString());
        }
        var newer = assertInstanceOf(Event.class, verified(webhook.get("newer"), key));
        assertEquals("charge.of_tomorrow", newer.getType());
        assertEquals("new_1", newer.getData().get("token"));
        var other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        var example = Map.of(
                "webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp", "1614265330",
                "webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        var later = new HashMap<Object, Object>(headers);
        later.put("webhook-timestamp", "" + (Long.parseLong((String) headers.get("webhook-timestamp")) + 1));
        refuses("does not fit", headers, body, other);
        refuses("does not fit", headers, body.replaceFirst("400", "4000"), key);
        refuses("does not fit", later, body, key);
        refuses("too old", example, "{\"test\": 2432232314}", other);
        refuses("headers", Map.of(), body, key);
        refuses("none of an endpoint", headers, body, "whsec_");
        refuses("none of an endpoint", headers, body, "");
    }

    static WebhookEvent verified(JsonNode sent, String key) throws Exception {
        return Webhooks.verify(name -> sent.get("headers").path(name).asText(), sent.get("body").asText().getBytes(UTF_8), key);
    }

    static void refuses(String reason, Map<?, ?> headers, String body, String key) {
        var refused = assertThrows(
                Webhooks.Refused.class, () -> Webhooks.verify(name -> (String) headers.get(name), body.getBytes(UTF_8), key));
        assertTrue(refused.getMessage().contains(reason), refused.getMessage());
    }
}
