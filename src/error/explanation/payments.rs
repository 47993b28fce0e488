//! Refusals of payments: declines, captures and voids, 3-D Secure, the balance.

use super::Actor::{Cardholder, Developer, Nobody};
use super::Explanation;
use super::Repetition::{Corrected, Never, OtherCard, Same};
use super::Sandbox::Shell;

/// Returns the lines that force this outcome of a charge.
macro_rules! forced {
    ($outcome:literal) => {
        Shell(concat!(
            "curl -s \"$URL/1/charges\" -u \"$KEY:\" -H 'Sandbox-Outcome: ",
            $outcome,
            "' -H 'Content-Type: application/json' -d @payment.json"
        ))
    };
}

/// Returns lines that authorise a charge first: `$CHARGE` is its token.
macro_rules! authorised {
    ($lines:literal) => {
        Shell(concat!(
            "CHARGE=$(jq '.capture = false' payment.json | curl -s \"$URL/1/charges\" -u \"$KEY:\" -H 'Content-Type: application/json' -d @- |\n  \
             jq -r .response.token)\n",
            $lines
        ))
    };
}

/// Returns lines that decide a 3-D Secure session first: `$PAGE` is its page, `$BACK` the address to which it leads.
macro_rules! verified {
    ($change:literal, $decision:literal) => {
        Shell(concat!(
            "jq '.three_d_secure = {enabled: true, callback_url: \"https://shop.example.com/done\"}",
            $change,
            "' payment.json > verify.json\n",
            "PAGE=$(curl -s \"$URL/1/charges\" -u \"$KEY:\" -H 'Content-Type: application/json' -d @verify.json | jq -r .response.redirect_url)\n",
            "BACK=$(curl -s -o /dev/null -w '%{redirect_url}' \"$PAGE\"",
            $decision,
            ")\n",
            "curl -s \"$URL/1/charges/verify?session_token=${BACK##*session_token=}\" -u \"$KEY:\""
        ))
    };
}

const ANOTHER_CARD: &str = "Show the cardholder that the card was declined, without the reason if it may be fraud, and ask for another way to pay.";

pub(super) const CARD_DECLINED: Explanation = Explanation {
    meaning: "The cardholder's bank has declined the payment and gives no reason. Nothing was taken; the attempt is kept under charge_token.",
    causes: &[
        "The bank does not allow this payment: a limit, a rule for the country or the shop, a blocked card.",
    ],
    remedy: ANOTHER_CARD,
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("card_declined"),
};

pub(super) const INSUFFICIENT_FUNDS: Explanation = Explanation {
    meaning: "The cardholder's account does not cover the amount. Nothing was taken.",
    causes: &["The account or the card's limit is used up."],
    remedy: "Ask the cardholder for another card, or try again later, when money may have arrived.",
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("insufficient_funds"),
};

pub(super) const INVALID_CVV: Explanation = Explanation {
    meaning: "The bank says that the card verification code is not the card's. Nothing was taken.",
    causes: &[
        "The cardholder has mistyped the three or four digits.",
        "Somebody has the number of a card, but not the card.",
    ],
    remedy: "Ask the cardholder to enter the card again.",
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("invalid_cvv"),
};

pub(super) const INVALID_CARD: Explanation = Explanation {
    meaning: "The bank does not know the card, or does not let it pay in this way. Nothing was taken.",
    causes: &["The number belongs to no card, or to one that was closed."],
    remedy: ANOTHER_CARD,
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("invalid_card"),
};

pub(super) const PROCESSING_ERROR: Explanation = Explanation {
    meaning: "The bank could not process the payment. Nothing was taken.",
    causes: &["A fault at the bank or in the card network."],
    remedy: "Try again later with the card's details anew, or ask for another card.",
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("processing_error"),
};

pub(super) const SUSPECTED_FRAUD: Explanation = Explanation {
    meaning: "The payment looks like fraud and was declined: by the bank, or by this server's own rules against card testing. Nothing was taken.",
    causes: &[
        "The bank's rules found the payment unusual.",
        "Many declines of one network, card or customer have made this server refuse further attempts (Cards and keys, Card testing).",
    ],
    remedy: "Show the cardholder a plain decline. Look whether somebody tries out card numbers at your checkout.",
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("suspected_fraud"),
};

pub(super) const EXPIRED_CARD: Explanation = Explanation {
    meaning: "The card has expired. Nothing was taken.",
    causes: &["The month of expiry has passed since the card was stored.", "The bank has replaced the card."],
    remedy: "Ask the cardholder for the new card, and replace a customer's card by PUT /1/customers/{customer_token}.",
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("expired_card"),
};

pub(super) const LOST_CARD: Explanation = Explanation {
    meaning: "The card was reported lost. Nothing was taken.",
    causes: &["The cardholder, or somebody else, pays with a lost card."],
    remedy: ANOTHER_CARD,
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("lost_card"),
};

pub(super) const STOLEN_CARD: Explanation = Explanation {
    meaning: "The card was reported stolen. Nothing was taken.",
    causes: &["Somebody pays with a stolen card."],
    remedy: ANOTHER_CARD,
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("stolen_card"),
};

pub(super) const UNKNOWN: Explanation = Explanation {
    meaning: "The acquirer has declined the payment with a reason that this API has no code for. Nothing was taken.",
    causes: &["A new or rare code of the card network."],
    remedy: "Treat it as card_declined. The operator finds the acquirer's own words in the log.",
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: forced!("unknown"),
};

pub(super) const GATEWAY_ERROR: Explanation = Explanation {
    meaning: "The acquirer failed or did not answer. A creation has charged nothing, and its card token may be used again. A capture or a void may have been done, or may still be done.",
    causes: &["The acquirer cannot be reached, has a fault, or took longer than twenty seconds."],
    remedy: "Repeat the request with the same Idempotency-Key, after a moment. After a capture or a void you may also get the record and look.",
    actor: Nobody,
    repetition: Same,
    sandbox: forced!("gateway_error"),
};

pub(super) const TOKEN_ALREADY_USED: Explanation = Explanation {
    meaning: "A card token or payment source token pays once, and this one has paid, was declined, or is held by a payment in flight; a payment source's also once its card belongs to a customer.",
    causes: &[
        "The client charges the same token twice; a decline spends it, too.",
        "Two requests with different Idempotency-Keys, or with none, pay the same order.",
    ],
    remedy: "To charge a card again and again, make a customer of it and charge the customer. Otherwise ask for the card once more.",
    actor: Developer,
    repetition: Never,
    sandbox: Shell(
        r#"CARD=$(jq .card payment.json | curl -s "$URL/1/cards" -u "$KEY:" -H 'Content-Type: application/json' -d @- | jq -r .response.token)
jq --arg card "$CARD" 'del(.card) | .card_token = $card' payment.json > used.json
curl -s -o /dev/null "$URL/1/charges" -u "$KEY:" -H 'Content-Type: application/json' -d @used.json
curl -s "$URL/1/charges" -u "$KEY:" -H 'Content-Type: application/json' -d @used.json"#,
    ),
};

pub(super) const INSUFFICIENT_SERVICE_BALANCE: Explanation = Explanation {
    meaning: "The account's balance does not cover the transfer, with its fee, or the refund. The body is a list that holds the one error.",
    causes: &[
        "Money of captured charges is pending until their settlement day.",
        "Disputes and refunds have used up the balance.",
    ],
    remedy: "Look at GET /1/balance, and try again once money is available. In test, POST /1/sandbox/deposits adds some.",
    actor: Developer,
    repetition: Corrected,
    sandbox: Shell(
        r#"curl -s "$URL/1/transfers" -u "$KEY:" -d description=All -d amount=900000000000 -d currency=AUD -d recipient=self"#,
    ),
};

pub(super) const AUTHORISATION_EXPIRED: Explanation = Explanation {
    meaning: "The authorisation is older than seven days. The reserved money is the cardholder's again.",
    causes: &["The capture or void came too late, by the clock of the account."],
    remedy: "Make a new charge with the customer's card, or ask the cardholder again. Capture within seven days.",
    actor: Developer,
    repetition: Never,
    sandbox: authorised!(
        "curl -s -o /dev/null -X PUT \"$URL/1/sandbox/clock\" -u \"$KEY:\" -d advance=8d\n\
         curl -s -X PUT \"$URL/1/charges/$CHARGE/capture\" -u \"$KEY:\""
    ),
};

pub(super) const ALREADY_VOIDED: Explanation = Explanation {
    meaning: "The authorisation was voided before; its money is the cardholder's again.",
    causes: &[
        "Two parts of the client end the same authorisation.",
        "A void was repeated without its Idempotency-Key.",
    ],
    remedy: "Nothing, if a void was meant. Otherwise make a new charge.",
    actor: Developer,
    repetition: Never,
    sandbox: authorised!(
        "curl -s -o /dev/null -X PUT \"$URL/1/charges/$CHARGE/void\" -u \"$KEY:\"\n\
         curl -s -X PUT \"$URL/1/charges/$CHARGE/void\" -u \"$KEY:\""
    ),
};

pub(super) const ALREADY_CAPTURED: Explanation = Explanation {
    meaning: "The payment was captured before: the money is taken.",
    causes: &[
        "A charge without capture=false is captured at once.",
        "A capture was repeated without its Idempotency-Key.",
    ],
    remedy: "Nothing, if a capture was meant. To give the money back, refund the charge.",
    actor: Developer,
    repetition: Never,
    sandbox: authorised!(
        "curl -s -o /dev/null -X PUT \"$URL/1/charges/$CHARGE/capture\" -u \"$KEY:\"\n\
         curl -s -X PUT \"$URL/1/charges/$CHARGE/void\" -u \"$KEY:\""
    ),
};

pub(super) const BAD_AUTHORISATION: Explanation = Explanation {
    meaning: "The payment was declined or has failed, so there is nothing to capture or to void.",
    causes: &[
        "The client goes on with the charge_token of a decline, or of a payment that its cardholder has not verified.",
    ],
    remedy: "Look at success of the record before you capture.",
    actor: Developer,
    repetition: Never,
    sandbox: Shell(
        r#"CHARGE=$(curl -s "$URL/1/charges" -u "$KEY:" -H 'Sandbox-Outcome: card_declined' -H 'Content-Type: application/json' -d @payment.json |
  jq -r .charge_token)
curl -s -X PUT "$URL/1/charges/$CHARGE/capture" -u "$KEY:""#,
    ),
};

pub(super) const INVALID_CAPTURE_AMOUNT: Explanation = Explanation {
    meaning: "A charge is captured for the amount that was authorised, no more and no less.",
    causes: &["The client sends another amount."],
    remedy: "Leave amount out. To capture a part, use an authorisation: POST /1/authorisations, then its charges.",
    actor: Developer,
    repetition: Corrected,
    sandbox: authorised!("curl -s -X PUT \"$URL/1/charges/$CHARGE/capture\" -u \"$KEY:\" -d amount=100"),
};

pub(super) const TRANSACTION_FORBIDDEN: Explanation = Explanation {
    meaning: "The cardholder did not complete the 3-D Secure verification, or the payment after it is not done yet.",
    causes: &[
        "The cardholder has failed or left the verification.",
        "GET /1/charges/verify came before the acquirer's answer.",
    ],
    remedy: "Offer the cardholder to pay again; the failed verification has spent the card token. If the payment is still in flight, ask again after a moment.",
    actor: Cardholder,
    repetition: OtherCard,
    sandbox: verified!("", " -d decision=fail"),
};

pub(super) const THREE_D_SECURE_UNAVAILABLE: Explanation = Explanation {
    meaning: "The card's bank does not verify its cardholders by 3-D Secure.",
    causes: &["The card is not enrolled; in test, every card of the scheme master."],
    remedy: "Charge without three_d_secure, or send fallback_ok=true, which charges such cards at once.",
    actor: Developer,
    repetition: Corrected,
    sandbox: verified!(" | .card.number = \"5520000000000000\"", ""),
};
