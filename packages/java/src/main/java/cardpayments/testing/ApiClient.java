package cardpayments.testing;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Sends requests to an address with a key. */
final class ApiClient {
    static final Gson GSON = new GsonBuilder().serializeNulls().create();

    // A proxy would look for the server on its own machine.
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).proxy(HttpClient.Builder.NO_PROXY).build();

    private static final Duration LIMIT = Duration.ofSeconds(70);

    final String url;
    final String secretKey;

    ApiClient(String url, String secretKey) {
        this.url = url;
        this.secretKey = secretKey;
    }

    /** Sends JSON, null for no body, and returns the record of the response. */
    JsonElement request(String method, String path, Object body) {
        var call = method + " " + path;
        var credentials = Base64.getEncoder().encodeToString((secretKey + ":").getBytes());
        var request = HttpRequest.newBuilder(URI.create(url + path))
                .timeout(LIMIT)
                .header("Authorization", "Basic " + credentials)
                .header("Content-Type", "application/json")
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(GSON.toJson(body)))
                .build();
        try {
            var response = send(request);
            var json = JsonParser.parseString(response.body());
            if (response.statusCode() >= 300) {
                throw new ApiException(call, response.statusCode(), json);
            }
            return json.isJsonNull() ? json : json.getAsJsonObject().get("response");
        } catch (IOException error) {
            throw new UncheckedIOException(call + " at " + url, error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(call + " was interrupted", error);
        }
    }

    /** The whole response within the limit: before Java 26 the timeout of a request ends at the headers. */
    private static HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
        var response = HTTP.sendAsync(request, BodyHandlers.ofString());
        try {
            return response.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof IOException lost ? lost : new IOException(failed.getCause());
        } catch (TimeoutException late) {
            throw new HttpTimeoutException("there was no whole response within " + LIMIT.toSeconds() + " s");
        } finally {
            // Ends a request that has no response.
            response.cancel(true);
        }
    }
}
