package cardpayments.client;

import cardpayments.client.model.ErrorBody;
import cardpayments.client.model.ErrorMessage;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Set;

/** The server refused a request, or there was no response: {@link #kind} says which. */
public class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private static final Set<String> DECLINES = Set.of(
            "card_declined", "insufficient_funds", "invalid_cvv", "invalid_card", "processing_error", "suspected_fraud", "expired_card",
            "lost_card", "stolen_card", "unknown");

    /** What programs tell apart. */
    public enum Kind {
        /** The card was declined; nothing was charged. */
        CARD_DECLINED,
        /** Parameters are missing or invalid; {@link #messages} has each. */
        INVALID_RESOURCE,
        /** The key is none of the account. */
        UNAUTHORIZED,
        /** There is no such record. */
        NOT_FOUND,
        /** Another request is still in flight. */
        CONFLICT,
        /** There were too many requests. */
        RATE_LIMITED,
        /** The server or the acquirer failed, and repeating did not help: repeat the request later, under {@link #idempotencyKey}. */
        SERVER_ERROR,
        /** There was no response: repeat the request later, under {@link #idempotencyKey}. */
        NO_RESPONSE,
        /** Another refusal: {@link #code} says which. Or a response that cannot be read: look before you repeat. */
        OTHER
    }

    private final int status;
    private final String requestId;
    private final String idempotencyKey;
    private final boolean isLost;
    private final transient ErrorBody body;

    /** Without a status: the request could not be made, or its response not be read. */
    public ApiException(Throwable cause) {
        this(cause, null, false);
    }

    /** Without a response: the connection was lost. */
    public ApiException(Throwable cause, String idempotencyKey) {
        this(cause, idempotencyKey, true);
    }

    private ApiException(Throwable cause, String idempotencyKey, boolean isLost) {
        super(cause);
        this.status = 0;
        this.requestId = null;
        this.idempotencyKey = idempotencyKey;
        this.isLost = isLost;
        this.body = new ErrorBody();
    }

    /** Without a request: an argument is missing. */
    public ApiException(int status, String message) {
        super(message);
        this.status = status;
        this.requestId = null;
        this.idempotencyKey = null;
        this.isLost = false;
        this.body = new ErrorBody();
    }

    /** For a response. */
    public ApiException(int status, String message, HttpResponse<?> response, String text) {
        this(status, response.headers().firstValue("X-Request-Id").orElse(null), RetryingClient.key(response.request()), parse(text));
    }

    private ApiException(int status, String requestId, String idempotencyKey, ErrorBody body) {
        super(String.format("%d %s: %s (request %s)", status, body.getError(), body.getErrorDescription(), requestId));
        this.status = status;
        this.requestId = requestId;
        this.idempotencyKey = idempotencyKey;
        this.isLost = false;
        this.body = body;
    }

    private static ErrorBody parse(String text) {
        try {
            var mapper = ApiClient.createDefaultObjectMapper();
            var tree = mapper.readTree(text == null ? "" : text);
            // insufficient_service_balance comes in a list.
            var error = tree.isArray() && !tree.isEmpty() ? tree.get(0) : tree;
            return error.isObject() ? mapper.treeToValue(error, ErrorBody.class) : new ErrorBody();
        } catch (JsonProcessingException exception) {
            return new ErrorBody();
        }
    }

    /** The status of the response, 0 if there was none. */
    public int status() {
        return status;
    }

    /** The error code, null if there was none; docs/errors.md lists them. */
    public String code() {
        return body.getError();
    }

    /** The sentence of the code. */
    public String description() {
        return body.getErrorDescription();
    }

    /** One for each fault of a parameter. */
    public List<ErrorMessage> messages() {
        return body.getMessages() == null ? List.of() : body.getMessages();
    }

    /** X-Request-Id of the response. */
    public String requestId() {
        return requestId;
    }

    /** The Idempotency-Key that was sent, null if the request changes nothing. */
    public String idempotencyKey() {
        return idempotencyKey;
    }

    /** The charge that was refused or declined, or null. */
    public String chargeToken() {
        return body.getChargeToken();
    }

    /** What it is. */
    public Kind kind() {
        if (isLost) {
            return Kind.NO_RESPONSE;
        }
        if (code() != null && DECLINES.contains(code())) {
            return Kind.CARD_DECLINED;
        }
        if ("invalid_resource".equals(code()) || "unprocessable_entity".equals(code())) {
            return Kind.INVALID_RESOURCE;
        }
        if (status >= 500) {
            return Kind.SERVER_ERROR;
        }
        switch (status) {
            case 401:
                return Kind.UNAUTHORIZED;
            case 404:
                return Kind.NOT_FOUND;
            case 409:
                return Kind.CONFLICT;
            case 429:
                return Kind.RATE_LIMITED;
            default:
                return Kind.OTHER;
        }
    }
}
