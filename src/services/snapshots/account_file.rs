//! The first account of a test server as a file, which a team keeps beside its tests (`docs/decisions.md`, 370): the content of a
//! snapshot in JSON, the same bytes for the same account, and nothing secret. An import makes new secrets: a test card's number
//! follows from the fields of the card that are shown, and webhook endpoints get other keys.

use std::any::Any;
use std::collections::BTreeMap;

use acquirer::test_cards::TestCards;
use base::clock::{Clock, FixedClock};
use base::random::{RandomSource, start_of};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::card::CardState;
use entity::{AccountToken, FileToken, account, bank_account, card, inbox, webhook_endpoint};
use outbound::signature::generate_key;
use sea_orm::{EntityTrait, IntoActiveModel, TryIntoModel};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Tx;
use uuid::Uuid;

use super::refuse_payments;
use super::restore::{AccountContents, is_kept};
use crate::error::{Error, ErrorCode};
use crate::limits::{INBOX_EVERY_MAX, SNAPSHOT_BYTES_MAX, SNAPSHOT_ROWS_MAX, WEBHOOK_ENDPOINTS_MAX};
use crate::params::without_credentials;
use crate::services::accounts::named_rows::{self, NamedRow};
use crate::services::accounts::snapshot_rows::SnapshotTable;
use crate::services::accounts::{self, settings, wipe};
use crate::services::context::Context;
use crate::services::ledger::verify::first_difference;
use crate::services::{event_sequence, files, installation, search_text};

/// The format of the files that this release writes and reads.
const FORMAT: u32 = 1;

/// Tables of a snapshot that files do not have: keyed hashes, by which another installation finds nothing, and private keys.
pub const LEFT_OUT: [&str; 5] =
    ["challenge_pages", "idempotency_answers", "idempotency_keys", "wallet_certificates", "wallet_payloads"];

/// Tables with rows in an account in which nothing has happened yet.
const OPENING: [&str; 6] =
    ["balances", "bank_accounts", "counters", "deposits", "journal_entries", "postings"];

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountFile {
    #[serde(rename = "card_payments_account")]
    format: u32,
    /// The columns of its own row that are not about who it is.
    account: NamedRow,
    tables: BTreeMap<String, Vec<NamedRow>>,
    /// The contents of its uploaded files, in base64.
    contents: BTreeMap<Uuid, String>,
}

impl AccountFile {
    /// Reads the text of a file.
    ///
    /// Errors: what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            card_payments_account: u32,
        }

        match serde_json::from_str(text) {
            Ok(Head { card_payments_account: FORMAT }) => {
                let mut file: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
                file.tables.values_mut().flatten().for_each(fold_again);
                Ok(file)
            }
            Ok(Head { card_payments_account: other }) => {
                Err(format!("is of format {other}, and this release reads format {FORMAT}"))
            }
            Err(error) => Err(format!("is no account that --export-on-exit wrote: {error}")),
        }
    }

    /// Returns whether both hold the same, but for the times at which refunds are submitted again: a server that starts alone makes
    /// them due.
    fn is_same_as(&self, other: &Self) -> bool {
        let without_pauses = |refunds: &[NamedRow]| -> Vec<NamedRow> {
            let mut refunds = refunds.to_vec();
            for pause in refunds.iter_mut().filter_map(|refund| refund.get_mut("submit_after")) {
                *pause = Value::Bool(!pause.is_null());
            }
            refunds
        };
        let mut tables = self.tables.iter().zip(&other.tables);
        (self.format, &self.account, &self.contents) == (other.format, &other.account, &other.contents)
            && self.tables.len() == other.tables.len()
            && tables.all(|((table, own), (its, others))| {
                let is_same = if table == "refunds" {
                    without_pauses(own) == without_pauses(others)
                } else {
                    own == others
                };
                table == its && is_same
            })
    }

    fn is_opening(&self) -> bool {
        let rows = |table: &str| self.tables.get(table).map_or(0, Vec::len);
        self.tables.keys().all(|table| OPENING.contains(&table.as_str()))
            && rows("deposits") <= 1
            && rows("bank_accounts") <= 1
    }

    /// Returns the newest id of a row.
    fn newest(&self) -> Option<Uuid> {
        let ids = self.tables.values().flatten().filter_map(id);
        ids.filter(|id| id.get_version_num() == 7).max()
    }
}

fn id(row: &NamedRow) -> Option<Uuid> {
    row.get("id")?.as_str()?.parse().ok()
}

fn tables() -> impl Iterator<Item = &'static dyn SnapshotTable> {
    wipe::copied().filter(|table| !LEFT_OUT.contains(&table.name()))
}

/// Returns the first account as the text of a file.
///
/// Refusals: `payments_under_way`, `snapshot_too_large`.
pub async fn export(ctx: &Context) -> Result<String, Error> {
    let owner = accounts::first(&ctx.store).await?;
    // Numbers that its events get later would make it another account.
    event_sequence::number(ctx, owner).await?;
    let file = read(ctx, owner).await?;
    let text = serde_json::to_string_pretty(&file)? + "\n";
    if text.len() as u64 > SNAPSHOT_BYTES_MAX {
        return Err(ErrorCode::SnapshotTooLarge.into());
    }
    Ok(text)
}

async fn read(ctx: &Context, account: AccountToken) -> Result<AccountFile, Error> {
    let instant = ctx.store.snapshot().await?;
    refuse_payments(&instant, account).await?;
    let row = account::Entity::find_by_id(account).one(&instant).await?.ok_or_else(wipe::deleted)?;
    let (mut named, mut rows) = (BTreeMap::new(), 0);
    for table in tables() {
        let mut found = table.export(&instant, account).await?;
        found.iter_mut().for_each(drop_credentials);
        rows += found.len() as u64;
        if rows > SNAPSHOT_ROWS_MAX {
            return Err(ErrorCode::SnapshotTooLarge.into());
        }
        if !found.is_empty() {
            named.insert(table.name().to_owned(), found);
        }
    }
    let sizes = named.get("files").into_iter().flatten().filter_map(|row| row.get("size")?.as_u64());
    // Before any is read.
    if sizes.sum::<u64>() > SNAPSHOT_BYTES_MAX {
        return Err(ErrorCode::SnapshotTooLarge.into());
    }
    let mut contents = BTreeMap::new();
    for id in named.get("files").into_iter().flatten().filter_map(id) {
        let content = files::content::read(ctx, account, FileToken::new(id)).await?;
        contents.insert(id, STANDARD.encode(content));
    }
    let account = named_rows::write::<account::Entity>(&row, |column| !is_kept(column))?;
    Ok(AccountFile { format: FORMAT, account, tables: named, contents })
}

/// Removes name and password from the address to which a cardholder returns; those of webhook endpoints have none.
fn drop_credentials(row: &mut NamedRow) {
    let Some(Value::String(text)) = row.get_mut("callback_url") else { return };
    if let Some(address) = without_credentials(text) {
        *text = address;
    }
}

/// Folds the words of searches as this release does.
fn fold_again(row: &mut NamedRow) {
    if let Some(Value::String(words)) = row.get_mut("search_text") {
        *words = search_text::stored_text(words.split('\n'));
    }
}

/// Makes the first account what the file holds. It must hold only what an account opens with; if it is what the file holds
/// already, nothing changes.
///
/// Refusals: `invalid_state` with what is wrong, `payments_under_way`.
pub async fn import(ctx: &Context, file: &AccountFile) -> Result<(), Error> {
    let owner = accounts::first(&ctx.store).await?;
    let present = read(ctx, owner).await?;
    if present.is_same_as(file) {
        return Ok(());
    }
    if !present.is_opening() {
        return Err(wrong("the database's first account holds something else already: name a new database"));
    }
    follow(ctx, file.newest()).await?;
    let contents = contents(ctx, owner, file).await?;
    for (id, content) in &uploads(file).map_err(wrong)? {
        files::content::store(ctx, owner, *id, content).await?;
    }
    let unit = ctx.store.write(contents, record);
    unit.await
}

fn wrong(what: impl Into<String>) -> Error {
    let what: String = what.into();
    Error::explained(ErrorCode::InvalidState, what)
}

/// Lets new ids be greater than those of the file.
async fn follow(ctx: &Context, newest: Option<Uuid>) -> Result<(), Error> {
    let Some(newest) = newest else { return Ok(()) };
    if ctx.random.is_seeded()
        && let Some(start) = start_of(newest, FixedClock::SEEDED.now().millis())
    {
        installation::skip_starts(&ctx.store, start + 1).await?;
        ctx.random.begin(start + 1);
    }
    if ctx.ids.next() <= newest {
        return Err(wrong("it is of a later time than this server's clock"));
    }
    Ok(())
}

/// Reads the file's rows as the account's.
async fn contents(ctx: &Context, owner: AccountToken, file: &AccountFile) -> Result<AccountContents, Error> {
    let keys = ctx.vault.data_keys();
    let mut seal_into = |row: &mut dyn Any| fill(row, &ctx.random);
    let mut rows = Vec::new();
    for (name, named) in &file.tables {
        let table = tables().find(|table| table.name() == name);
        let table = table.ok_or_else(|| wrong(format!("{name} is no table of this release's files")))?;
        rows.push(table.import(named, owner, &keys, &mut seal_into).map_err(wrong)?);
    }
    let itself = account::Entity::find_by_id(owner).one(ctx.store.read()).await?;
    let mut itself = itself.ok_or_else(wipe::deleted)?.into_active_model();
    named_rows::read_into::<account::Entity>(&file.account, &mut itself, |column| !is_kept(column))
        .map_err(|what| wrong(format!("account: {what}")))?;
    Ok(AccountContents { itself: itself.try_into_model()?, rows, wall: ctx.clock.now() })
}

/// Puts what belongs into the sealed columns of a row.
fn fill(row: &mut dyn Any, random: &RandomSource) -> Result<(), String> {
    if let Some(card) = row.downcast_mut::<card::Model>() {
        // The number of a used card is erased.
        if card.state != CardState::Used {
            let number = TestCards::shown_as(card.scheme, &card.display_number, &card.issuing_country);
            let number = number.ok_or_else(|| format!("no test card is shown as {}", card.display_number))?;
            card.number_sealed = Some(number.into());
        }
    } else if let Some(bank_account) = row.downcast_mut::<bank_account::Model>() {
        bank_account.number_sealed = bank_account.number.replace('X', "0").into();
    } else if let Some(endpoint) = row.downcast_mut::<webhook_endpoint::Model>() {
        if !usize::try_from(endpoint.slot).is_ok_and(|slot| slot < WEBHOOK_ENDPOINTS_MAX) {
            return Err(format!("slot is none of the {WEBHOOK_ENDPOINTS_MAX} of an account"));
        }
        let key = || generate_key(random).expose().into();
        endpoint.key_sealed = key();
        endpoint.former_key_sealed = endpoint.former_key_until.map(|_| key());
    } else if let Some(inbox) = row.downcast_ref::<inbox::Model>()
        && !(1..=INBOX_EVERY_MAX).contains(&inbox.every)
    {
        return Err(format!("every must be from 1 to {INBOX_EVERY_MAX}"));
    }
    Ok(())
}

/// Returns the contents of the account's uploaded files.
fn uploads(file: &AccountFile) -> Result<Vec<(FileToken, Vec<u8>)>, String> {
    let rows = file.tables.get("files").map_or(&[][..], Vec::as_slice);
    if rows.len() != file.contents.len() {
        return Err(format!("it has {} files and the contents of {}", rows.len(), file.contents.len()));
    }
    let content = |row: &NamedRow| {
        let id = id(row)?;
        let content = STANDARD.decode(file.contents.get(&id)?).ok()?;
        (row.get("size")?.as_u64()? == content.len() as u64).then_some((FileToken::new(id), content))
    };
    let contents = rows
        .iter()
        .zip(1..)
        .map(|(row, n)| content(row).ok_or(format!("files, row {n}: its content is missing")));
    contents.collect()
}

async fn record(tx: &Tx, contents: &AccountContents) -> Result<(), Error> {
    tx.require_exclusive().await?;
    tx.disable_timeouts().await?;
    let owner = settings::lock_account(tx, contents.itself.id).await?;
    contents.put(tx, &owner).await?;
    event_sequence::note_highest(tx, owner.id).await?;
    match first_difference(tx, owner.id).await? {
        Some(difference) => Err(wrong(format!(
            "its books do not balance: {} of {} is {} instead of {}",
            difference.proof, difference.subject, difference.found, difference.expected
        ))),
        None => Ok(()),
    }
}
