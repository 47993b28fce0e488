package cardpayments.testing;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

/** The server refused a request. */
public final class ApiException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;
    private final String code;
    private final transient JsonElement body;

    ApiException(String call, int status, JsonElement body) {
        this(call, status, body, error(body));
    }

    private ApiException(String call, int status, JsonElement body, JsonObject error) {
        super(call + ": " + status + " " + text(error, "error") + ": " + text(error, "error_description"));
        this.status = status;
        this.code = text(error, "error");
        this.body = body;
    }

    /** Returns the status of the response. */
    public int status() {
        return status;
    }

    /** Returns the error code. */
    public String code() {
        return code;
    }

    /** Returns the JSON of the response. */
    public JsonElement body() {
        return body;
    }

    private static JsonObject error(JsonElement body) {
        var error = body.isJsonArray() ? body.getAsJsonArray().get(0) : body;
        return error.isJsonObject() ? error.getAsJsonObject() : new JsonObject();
    }

    private static String text(JsonObject error, String field) {
        return error.has(field) ? error.get(field).getAsString() : "";
    }
}
