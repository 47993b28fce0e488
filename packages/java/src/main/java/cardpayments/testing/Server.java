package cardpayments.testing;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A running server, and its first account. */
public final class Server implements AutoCloseable {
    private final ApiClient client;
    private final Process process;

    private Server(ApiClient client, Process process) {
        this.client = client;
        this.process = process;
    }

    /** Starts a server of its own on a free port. It ends when it is closed, and with this process at the latest. */
    public static Server start() {
        return start(new Options());
    }

    /** Starts a server with options. */
    public static Server start(Options options) {
        try {
            // The server ends with its input.
            var process = new ProcessBuilder(options.command()).redirectError(Redirect.INHERIT).start();
            var line = process.inputReader().readLine();
            if (line == null) {
                var code = process.onExit().join().exitValue();
                throw new IllegalStateException(options.program() + " did not start: exit code " + code);
            }
            var started = ApiClient.GSON.fromJson(line, JsonObject.class);
            return new Server(new ApiClient(text(started, "listening"), text(started, "secret_key")), process);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns the server at an address. The key is that of one of its accounts. */
    public static Server connect(String url, String secretKey) {
        return new Server(new ApiClient(url.replaceFirst("/$", ""), secretKey), null);
    }

    /** Returns the server's address. */
    public String url() {
        return client.url;
    }

    /** Returns the secret key of the first account. */
    public String secretKey() {
        return client.secretKey;
    }

    /** Creates an account with keys, a clock and an opening balance of its own. It is deleted when it is closed. */
    public Account createAccount() {
        return new Account(this, request("POST", "/1/sandbox/accounts", Map.of()).getAsJsonObject());
    }

    /** Sends a request without a body, and returns the record of the response. */
    public JsonElement request(String method, String path) {
        return client.request(method, path, null);
    }

    /** Sends a request with a body that Gson writes, such as a map, and returns the record of the response. */
    public JsonElement request(String method, String path, Object body) {
        return client.request(method, path, body);
    }

    /** Stops a server that was started; its data is deleted. */
    @Override
    public void close() {
        if (process == null) {
            return;
        }
        try {
            process.getOutputStream().close();
        } catch (IOException error) {
            // It has ended already.
        }
        process.onExit().completeOnTimeout(process, 20, TimeUnit.SECONDS).join().destroyForcibly();
    }

    static String text(JsonObject record, String field) {
        return record.get(field).getAsString();
    }
}
