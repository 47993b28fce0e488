import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;
import org.openapitools.client.api.CardsApi.APICreateCardRequest;
import org.openapitools.client.api.ChargesApi.APICreateChargeRequest;
import org.openapitools.client.api.ChargesApi.APIListChargesRequest;
import org.openapitools.client.api.CustomersApi.APICreateCustomerRequest;
import org.openapitools.client.api.PlansApi.APICreatePlanRequest;
import org.openapitools.client.api.RefundsApi.APICreateRefundRequest;
import org.openapitools.client.api.SubscriptionsApi.APICreateSubscriptionRequest;
import org.openapitools.client.api.TransfersApi.APICreateTransferRequest;
import org.openapitools.client.model.*;

/** The flow of every client, by openapi-generator's Java. */
public class Flow {
    private static void holds(boolean condition, Object said) {
        if (!condition) {
            throw new AssertionError(said);
        }
    }

    private static CardInput details() {
        return new CardInput().number("4200000000000000").expiryMonth(5L).expiryYear(2030L).cvc("123").name("Roland Robot")
            .addressLine1("42 Sevenoaks St").addressCity("Lathlain").addressCountry("AU");
    }

    private static ChargeInput newCharge(long amount) {
        return new ChargeInput().email("roland@example.com").description("Java").amount(amount).ipAddress("203.192.1.172");
    }

    private static APICreateChargeRequest request(ChargeInput order) {
        return APICreateChargeRequest.newBuilder().chargeInput(order).build();
    }

    public static void main(String[] arguments) throws Exception {
        var key = (System.getenv("KEY") + ":").getBytes(StandardCharsets.UTF_8);
        var api = new ApiClient();
        api.updateBaseUri(System.getenv("SERVER"));
        api.setRequestInterceptor(
            request -> request.header("Authorization", "Basic " + Base64.getEncoder().encodeToString(key)));
        var charges = new ChargesApi(api);

        var stored = new BrowserCardInput().number("4200000000000000").expiryMonth(5L).expiryYear(2030L).cvc("123")
            .name("Roland Robot").addressLine1("42 Sevenoaks St").addressCity("Lathlain").addressCountry("AU");
        var card = new CardsApi(api).createCard(APICreateCardRequest.newBuilder().browserCardInput(stored).build()).getResponse();
        var charge = charges.createCharge(request(newCharge(400).cardToken(card.getToken()))).getResponse();
        holds(charge.getSuccess() && charge.getAmount() == 400, charge);
        var inline = charges.createCharge(request(newCharge(500).card(details()))).getResponse();
        holds(inline.getCard().getDisplayNumber().endsWith("0000"), inline);

        var part = new RefundInput().amount(100L);
        var refund = new RefundsApi(api)
            .createRefund(APICreateRefundRequest.newBuilder().chargeToken(charge.getToken()).refundInput(part).build()).getResponse();
        holds(refund.getCharge().equals(charge.getToken()) && refund.getAmount() == 100, refund);

        var page = charges.listCharges(APIListChargesRequest.newBuilder().perPage(2L).build());
        var tokens = page.getResponse().stream().map(Charge::getToken).toList();
        holds(tokens.equals(List.of(inline.getToken(), charge.getToken())), page);

        try {
            charges.createCharge(request(newCharge(400)));
            holds(false, "a charge without a payer");
        } catch (ApiException refused) {
            var body = ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), ErrorBody.class);
            holds(refused.getCode() == 422 && body.getError().equals("invalid_resource"), body);
        }
        try {
            var much = new TransferInput().description("Too much").amount(1_000_000_000_000L).currency("AUD").recipient("self");
            new TransfersApi(api).createTransfer(APICreateTransferRequest.newBuilder().transferInput(much).build());
            holds(false, "a transfer of more than there is");
        } catch (ApiException refused) {
            var body = ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), ErrorBody[].class);
            holds(refused.getCode() == 402 && body[0].getError().equals("insufficient_service_balance"), body[0]);
        }

        var payer = new CustomerInput().email("roland@example.com").card(details());
        var customer = new CustomersApi(api)
            .createCustomer(APICreateCustomerRequest.newBuilder().customerInput(payer).build()).getResponse();
        var monthly = new PlanInput().name("Java").amount(1000L).interval(1L).intervalUnit(IntervalUnit.MONTH);
        var plan = new PlansApi(api).createPlan(APICreatePlanRequest.newBuilder().planInput(monthly).build()).getResponse();
        var wanted = new SubscriptionInput().planToken(plan.getToken()).customerToken(customer.getToken());
        var subscription = new SubscriptionsApi(api)
            .createSubscription(APICreateSubscriptionRequest.newBuilder().subscriptionInput(wanted).build()).getResponse();
        holds(subscription.getState() == SubscriptionState.ACTIVE, subscription);

        var body = Files.readString(Path.of(System.getenv("WEBHOOK")));
        var event = ApiClient.createDefaultObjectMapper().readValue(body, Event.class);
        holds(event.getType().equals("charge.captured"), event);
        holds(event.getData().get("token").toString().startsWith("ch_"), event);
        var captured = ApiClient.createDefaultObjectMapper().readValue(body, ChargeCapturedEvent.class);
        holds(captured.getData().getCaptured(), captured);
    }
}
