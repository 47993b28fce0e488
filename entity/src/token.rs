//! Tokens: a prefix for the kind of record, and the row's UUID in 22 characters of URL-safe base64 (specification, Common
//! rules; `docs/decisions.md`, 15). `Token<Charge>` and `Token<Card>` are different types, in Rust and in columns, so a token
//! of another kind does not compile.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sea_orm::sea_query::{ArrayType, ColumnType, Nullable, ValueType, ValueTypeErr};
use sea_orm::{ColIdx, DbErr, QueryResult, TryFromU64, TryGetError, TryGetable, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// The kind of record that a token names.
pub trait TokenKind: 'static {
    /// The prefix, with its underscore.
    const PREFIX: &'static str;
}

/// The token of one record.
pub struct Token<K>(Uuid, PhantomData<fn() -> K>);

/// The error of a text that is no token of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a token of this kind")]
pub struct MalformedToken;

impl<K> Token<K> {
    /// Creates the token of the row with this id.
    pub const fn new(id: Uuid) -> Self {
        Self(id, PhantomData)
    }

    /// Returns the row's id.
    pub const fn id(self) -> Uuid {
        self.0
    }
}

impl<K: TokenKind> FromStr for Token<K> {
    type Err = MalformedToken;

    /// Parses strictly: the right prefix, exactly 22 characters, unused bits zero.
    fn from_str(text: &str) -> Result<Self, MalformedToken> {
        let encoded = text.strip_prefix(K::PREFIX).ok_or(MalformedToken)?;
        // A longer text would decode into a longer buffer; 22 characters are exactly 16 bytes.
        let mut bytes = [0; 16];
        match URL_SAFE_NO_PAD.decode_slice(encoded, &mut bytes) {
            Ok(16) => Ok(Self::new(Uuid::from_bytes(bytes))),
            Ok(_) | Err(_) => Err(MalformedToken),
        }
    }
}

impl<K: TokenKind> fmt::Display for Token<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::PREFIX)?;
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0.as_bytes()))
    }
}

impl<K: TokenKind> fmt::Debug for Token<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<K: TokenKind> Serialize for Token<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// Written out because a derive would ask K for the same traits.
impl<K> Clone for Token<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Token<K> {}
impl<K> PartialEq for Token<K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<K> Eq for Token<K> {}
impl<K> PartialOrd for Token<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Token<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}
impl<K> Hash for Token<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<'de, K: TokenKind> Deserialize<'de> for Token<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

// A token is a UUID column.
impl<K> From<Token<K>> for Value {
    fn from(token: Token<K>) -> Self {
        token.0.into()
    }
}
impl<K> TryGetable for Token<K> {
    fn try_get_by<I: ColIdx>(row: &QueryResult, index: I) -> Result<Self, TryGetError> {
        Uuid::try_get_by(row, index).map(Self::new)
    }
}
impl<K> ValueType for Token<K> {
    fn try_from(value: Value) -> Result<Self, ValueTypeErr> {
        <Uuid as ValueType>::try_from(value).map(Self::new)
    }
    fn type_name() -> String {
        "Token".into()
    }
    fn array_type() -> ArrayType {
        ArrayType::Uuid
    }
    fn column_type() -> ColumnType {
        ColumnType::Uuid
    }
}
impl<K> Nullable for Token<K> {
    fn null() -> Value {
        <Uuid as Nullable>::null()
    }
}
impl<K: TokenKind> TryFromU64 for Token<K> {
    fn try_from_u64(_: u64) -> Result<Self, DbErr> {
        Err(DbErr::ConvertFromU64(K::PREFIX))
    }
}
impl<K> sea_orm::IntoActiveValue<Self> for Token<K> {
    fn into_active_value(self) -> sea_orm::ActiveValue<Self> {
        sea_orm::ActiveValue::Set(self)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $token:ident $prefix:literal)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind {}
        impl TokenKind for $kind {
            const PREFIX: &'static str = $prefix;
        }
        #[doc = concat!("The token of ", stringify!($kind), " records, `", $prefix, "...`.")]
        pub type $token = Token<$kind>;
    )*
        /// Returns whether a text is a well-formed token of any kind.
        pub fn is_token(text: &str) -> bool {
            $(text.parse::<$token>().is_ok())||*
        }
    };
}

kinds! {
    /// A merchant in one environment: the tenant of every row.
    Account AccountToken "acct_"
    /// A restricted API key.
    ApiKey ApiKeyToken "key_"
    /// Money reserved on a card by the authorisations API.
    Authorisation AuthorisationToken "auth_"
    /// A stored bank account.
    BankAccount BankAccountToken "ba_"
    /// A stored card.
    Card CardToken "card_"
    /// A charge.
    Charge ChargeToken "ch_"
    /// A customer.
    Customer CustomerToken "cus_"
    /// Money that arrived from outside.
    Deposit DepositToken "dpo_"
    /// A dispute of a charge.
    Dispute DisputeToken "dis_"
    /// An activity of a dispute; internal, in no response.
    DisputeActivity DisputeActivityToken "da_"
    /// An event.
    Event EventToken "evt_"
    /// An exception of a reconciliation; for operators, in no response.
    Exception ExceptionToken "exc_"
    /// An uploaded file.
    File FileToken "file_"
    /// A receiver of webhooks in the sandbox.
    Inbox InboxToken "inb_"
    /// What arrived at an inbox.
    InboxDelivery InboxDeliveryToken "inbd_"
    /// One balanced movement of money; internal, in no response.
    JournalEntry JournalEntryToken "je_"
    /// A request in an account's log; internal, in no response.
    LoggedRequest LoggedRequestToken "lr_"
    /// A merchant that a partner has referred.
    Merchant MerchantToken "mrch_"
    /// A plan.
    Plan PlanToken "plan_"
    /// A 3-D Secure session.
    Session SessionToken "se_"
    /// A card that was stored as a payment source.
    PaymentSource PaymentSourceToken "ps_"
    /// One side of a movement; internal, in no response.
    Posting PostingToken "po_"
    /// A recipient of transfers.
    Recipient RecipientToken "rp_"
    /// A refund.
    Refund RefundToken "rf_"
    /// A snapshot of an account.
    Snapshot SnapshotToken "snap_"
    /// A merchant's key and its certificate at walletA.
    WalletCertificate WalletCertificateToken "apdp_"
    /// A domain registered at walletA.
    WalletDomain WalletDomainToken "apmd_"
    /// A subscription.
    Subscription SubscriptionToken "sub_"
    /// An entry of a subscription's ledger; internal, in no response.
    SubscriptionEntry SubscriptionEntryToken "sube_"
    /// Money paid out.
    Transfer TransferToken "tfer_"
    /// A request sent to a webhook endpoint for one event.
    Webhook WebhookToken "whr_"
    /// An endpoint that gets webhooks.
    WebhookEndpoint WebhookEndpointToken "whe_"
}
