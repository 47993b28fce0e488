// The payment code of a shop, and its tests.
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import cardpayments.testing.Account;
import cardpayments.testing.ApiException;
import cardpayments.testing.CardPaymentsExtension;
import com.google.gson.JsonObject;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(CardPaymentsExtension.class)
class CheckoutTest {
    /** What a shop does: it charges a card. */
    static JsonObject pay(Account account, int amount) {
        var card = Map.of(
                "number", "4200000000000000", "expiry_month", 12, "expiry_year", 2099, "cvc", "123", "name", "Roland Robot",
                "address_line1", "42 Sevenoaks St", "address_city", "Lathlain", "address_country", "AU");
        var payment = Map.of(
                "email", "roland@example.com", "description", "Order", "amount", amount, "ip_address", "203.192.1.172",
                "card", card);
        return account.request("POST", "/1/charges", payment).getAsJsonObject();
    }

    @Test
    void aPaymentIsReportedByAWebhook(Account account) {
        var inbox = account.openInbox();
        var charge = pay(account, 400);
        var event = inbox.waitFor("charge.captured");
        assertEquals(charge.get("token"), event.getAsJsonObject("data").get("token"));
    }

    @Test
    void aDeclinedCardIsNotCharged(Account account) {
        account.setFaults(Map.of("decline", "insufficient_funds"));
        var declined = assertThrows(ApiException.class, () -> pay(account, 400));
        assertEquals("insufficient_funds", declined.code());
    }

    @Test
    void theMoneyOfAPaymentIsAvailableAfterSomeDays(Account account) {
        var before = available(account);
        pay(account, 400);
        assertEquals(before, available(account));
        account.moveClock("8d");
        assertEquals(before + 363, available(account));
    }

    static int available(Account account) {
        var balance = account.request("GET", "/1/balance").getAsJsonObject();
        return balance.getAsJsonArray("available").get(0).getAsJsonObject().get("amount").getAsInt();
    }
}
