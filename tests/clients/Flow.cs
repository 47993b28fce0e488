using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Threading.Tasks;
using CardPayments;
using Newtonsoft.Json;

/// <summary>The flow of every client, by NSwag's C#.</summary>
static class Flow
{
    static void Holds(bool condition, object said)
    {
        if (!condition)
        {
            throw new Exception(JsonConvert.SerializeObject(said));
        }
    }

    static async Task<ApiException<T>> Refused<T>(Task call)
    {
        try
        {
            await call;
        }
        catch (ApiException<T> refused)
        {
            return refused;
        }
        throw new Exception("it was not refused");
    }

    static CardInput Details()
    {
        return new CardInput
        {
            Number = "4200000000000000", Expiry_month = 5, Expiry_year = 2030, Cvc = "123", Name = "Roland Robot",
            Address_line1 = "42 Sevenoaks St", Address_city = "Lathlain", Address_country = "AU",
        };
    }

    static ChargeInput Order(long amount, string token = null, CardInput card = null)
    {
        return new ChargeInput
        {
            Email = "roland@example.com", Description = "C#", Amount = amount, Ip_address = "203.192.1.172", Card_token = token, Card = card,
        };
    }

    // The compiler of Mono begins with no other one.
    static void Main()
    {
        Live().GetAwaiter().GetResult();
    }

    static async Task Live()
    {
        var http = new HttpClient();
        var key = Encoding.UTF8.GetBytes(Environment.GetEnvironmentVariable("KEY") + ":");
        http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Basic", Convert.ToBase64String(key));
        var client = new Client(http) { BaseUrl = Environment.GetEnvironmentVariable("SERVER") };

        var stored = new BrowserCardInput
        {
            Number = "4200000000000000", Expiry_month = 5, Expiry_year = 2030, Cvc = "123", Name = "Roland Robot",
            Address_line1 = "42 Sevenoaks St", Address_city = "Lathlain", Address_country = "AU",
        };
        var card = (await client.Create_cardAsync(body: stored)).Response;
        var charge = (await client.Create_chargeAsync(body: Order(400, token: card.Token))).Response;
        Holds(charge.Success == true && charge.Amount == 400, charge);
        var inline = (await client.Create_chargeAsync(body: Order(500, card: Details()))).Response;
        Holds(inline.Card.Display_number.EndsWith("0000"), inline);

        var part = new RefundInput { Amount = 100 };
        var refund = (await client.Create_refundAsync(charge_token: charge.Token, body: part)).Response;
        Holds(refund.Charge == charge.Token && refund.Amount == 100, refund);

        var page = await client.List_chargesAsync(per_page: 2);
        Holds(page.Response.Select(one => one.Token).SequenceEqual(new[] { inline.Token, charge.Token }), page);

        var invalid = await Refused<ErrorBody>(client.Create_chargeAsync(body: Order(400)));
        Holds(invalid.StatusCode == 422 && invalid.Result.Error == "invalid_resource", invalid.Result);
        var much = new TransferInput { Description = "Too much", Amount = 1000000000000, Currency = "AUD", Recipient = "self" };
        var poor = await Refused<ICollection<ErrorBody>>(client.Create_transferAsync(body: much));
        Holds(poor.StatusCode == 402 && poor.Result.Single().Error == "insufficient_service_balance", poor.Result);

        var payer = new CustomerInput { Email = "roland@example.com", Card = Details() };
        var customer = (await client.Create_customerAsync(body: payer)).Response;
        var monthly = new PlanInput { Name = "C#", Amount = 1000, Interval = 1, Interval_unit = IntervalUnit.Month };
        var plan = (await client.Create_planAsync(body: monthly)).Response;
        var wanted = new SubscriptionInput { Plan_token = plan.Token, Customer_token = customer.Token };
        var subscription = (await client.Create_subscriptionAsync(body: wanted)).Response;
        Holds(subscription.State == SubscriptionState.Active, subscription);

        var webhook = File.ReadAllText(Environment.GetEnvironmentVariable("WEBHOOK"));
        var happened = JsonConvert.DeserializeObject<Event>(webhook);
        Holds(happened.Type == "charge.captured" && happened.Data["token"].ToString().StartsWith("ch_"), happened);
        var captured = JsonConvert.DeserializeObject<ChargeCapturedEvent>(webhook);
        Holds(captured.Data.Captured, captured);
    }
}
