package cardpayments.client;

import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * A client of the account that a key is of: {@code new ChargesApi(new Client(url, secretKey)).createCharge(...)}. Each request waits 70
 * seconds for a response at most, and is repeated as {@link RetryingClient} says.
 */
public class Client extends ApiClient {
    public Client(String url, String secretKey) {
        super(HttpClient.newBuilder(), createDefaultObjectMapper(), url.replaceAll("/+$", ""));
        var key = Base64.getEncoder().encodeToString((secretKey + ":").getBytes(StandardCharsets.UTF_8));
        setRequestInterceptor(request -> request.header("Authorization", "Basic " + key));
        setReadTimeout(RetryingClient.TIMEOUT);
    }

    @Override
    public HttpClient getHttpClient() {
        return new RetryingClient(super.getHttpClient());
    }
}
