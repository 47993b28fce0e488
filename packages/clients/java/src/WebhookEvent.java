package cardpayments.client;

import java.time.OffsetDateTime;

/**
 * The event of a webhook. Its class tells which record its data are: those of a {@code ChargeCapturedEvent} are a {@code Charge}. An
 * {@code Event} is of a type that is newer than this client.
 */
public interface WebhookEvent {
    String getToken();

    /** Returns the type, whose text is that of the document: {@code charge.captured}. */
    Object getType();

    OffsetDateTime getCreatedAt();

    Long getSequence();
}
