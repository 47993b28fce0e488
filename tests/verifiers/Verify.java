import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Verify {
    // The ids of the events that were processed; in production, a unique column of your database.
    static final Set<String> SEEN = ConcurrentHashMap.newKeySet();

    static boolean isGenuine(byte[] key, byte[] body, Headers head) throws Exception {
        var id = head.getFirst("webhook-id");
        var time = head.getFirst("webhook-timestamp");
        var signatures = head.getFirst("webhook-signature");
        if (id == null || signatures == null || time == null || !time.matches("\\d{1,18}")) {
            return false;
        }
        if (Math.abs(Instant.now().getEpochSecond() - Long.parseLong(time)) > 300) {
            return false;
        }
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        var signed = new ByteArrayOutputStream();
        signed.writeBytes((id + "." + time + ".").getBytes(UTF_8));
        signed.writeBytes(body);
        var own = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(signed.toByteArray()));
        for (var given : signatures.split(" ")) {
            // In constant time: how long it takes says nothing about the right signature.
            if (MessageDigest.isEqual(own.getBytes(UTF_8), given.getBytes(UTF_8))) {
                return true;
            }
        }
        return false;
    }

    public static void main(String[] args) throws Exception {
        var key = Base64.getDecoder().decode(System.getenv("WEBHOOK_KEY").substring("whsec_".length()));
        var port = Integer.parseInt(System.getenv().getOrDefault("PORT", "9000"));
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/", exchange -> {
            var status = 400;
            try {
                var body = exchange.getRequestBody().readAllBytes();
                if (isGenuine(key, body, exchange.getRequestHeaders())) {
                    status = 204;
                    if (SEEN.add(exchange.getRequestHeaders().getFirst("webhook-id"))) {
                        System.out.println(new String(body, UTF_8));
                    }
                }
            } catch (Exception error) {
                error.printStackTrace();
            }
            exchange.sendResponseHeaders(status, -1);
            exchange.close();
        });
        server.start();
        System.out.println("Listening on http://127.0.0.1:" + server.getAddress().getPort());
    }
}
