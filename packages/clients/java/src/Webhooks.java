package cardpayments.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import cardpayments.client.model.Event;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.function.UnaryOperator;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Webhooks of the server: only what it has signed is an event. */
public final class Webhooks {
    /** The longest time that a webhook may be off this machine's clock. */
    private static final Duration TOLERANCE = Duration.ofMinutes(5);

    private Webhooks() {}

    /** The webhook is not of the server, or too old. */
    public static final class Refused extends Exception {
        private static final long serialVersionUID = 1L;

        Refused(String reason) {
            super(reason);
        }
    }

    /**
     * Returns the event of a webhook that was signed with an endpoint's key, {@code whsec_...}, within the last five minutes:
     * one of the class of its type, or an {@code Event} if the type is newer than this client.
     *
     * @param header returns the request's header of a name, or null: {@code request::getHeader}
     * @param body the request's body, byte for byte
     */
    public static WebhookEvent verify(UnaryOperator<String> header, byte[] body, String key) throws Refused {
        var id = header.apply("webhook-id");
        var timestamp = header.apply("webhook-timestamp");
        var signatures = header.apply("webhook-signature");
        if (id == null || signatures == null || timestamp == null || !timestamp.matches("\\d{1,12}")) {
            throw new Refused("the request has not the headers of a webhook");
        }
        if (Duration.between(Instant.ofEpochSecond(Long.parseLong(timestamp)), Instant.now()).abs().compareTo(TOLERANCE) > 0) {
            throw new Refused("the webhook is too old, or of the future");
        }
        var expected = ("v1," + sign(id + "." + timestamp + ".", body, key)).getBytes(UTF_8);
        for (var known : signatures.split(" ")) {
            if (MessageDigest.isEqual(known.getBytes(UTF_8), expected)) {
                try {
                    var mapper = ApiClient.createDefaultObjectMapper();
                    var type = mapper.readTree(body).path("type").asText();
                    return mapper.readValue(body, KnownEvents.CLASSES.getOrDefault(type, Event.class));
                } catch (IOException exception) {
                    throw new Refused("the body is no event");
                }
            }
        }
        throw new Refused("the signature does not fit");
    }

    private static String sign(String head, byte[] body, String key) throws Refused {
        try {
            var secret = Base64.getDecoder().decode(key.replaceFirst("^whsec_", ""));
            var mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret, "HmacSHA256"));
            mac.update(head.getBytes(UTF_8));
            return Base64.getEncoder().encodeToString(mac.doFinal(body));
        } catch (IllegalArgumentException exception) {
            throw new Refused("the key is none of an endpoint");
        } catch (GeneralSecurityException exception) {
            throw new IllegalStateException(exception);
        }
    }
}
