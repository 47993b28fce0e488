//! Inboxes of the sandbox: receivers of webhooks inside the server (`docs/decisions.md`, 375).

use crate::{AccountToken, InboxToken, Timestamp};

table! {
    /// One inbox, with its ordered answer.
    "inboxes" [account_id: AccountToken, id: InboxToken] {
        /// The HTTP status of the answer.
        status: i32,
        /// The delay of the answer, in milliseconds.
        latency_ms: i64,
        fault: Option<InboxFault>,
        /// Each delivery whose number this divides gets the answer; the others get 200 at once.
        every: i64,
        /// The number of deliveries so far, kept or not.
        received: i64,
        created_at: Timestamp,
    }
}

string_enum! {
    /// Why a delivery to an inbox gets no answer.
    pub closed enum InboxFault {
        /// No answer comes in time.
        Hang "hang",
        /// The connection breaks before the answer.
        Reset "reset",
    }
}

string_enum! {
    /// Whether a key of the endpoint has signed a delivery.
    pub closed enum SignatureVerdict {
        /// A key of the endpoint has signed it.
        Valid "valid",
        /// No key of the endpoint has signed it.
        Invalid "invalid",
        /// It has no signature.
        Missing "missing",
    }
}

/// Deliveries that arrived at inboxes.
pub mod inbox_delivery {
    use super::{InboxFault, SignatureVerdict};
    use crate::{AccountToken, InboxDeliveryToken, InboxToken, JsonText, Timestamp};

    table! {
        /// One delivery, as it arrived, and its answer.
        "inbox_deliveries" [account_id: AccountToken, id: InboxDeliveryToken] {
            inbox_id: InboxToken,
            /// Counted from 1 in its inbox.
            number: i64,
            /// An object.
            headers: JsonText,
            body: String,
            signature: SignatureVerdict,
            /// Why the signature is invalid, as a sentence.
            signature_error: Option<String>,
            /// The HTTP status of the answer; null if there was none.
            status: Option<i32>,
            fault: Option<InboxFault>,
            created_at: Timestamp,
        }
    }
}
