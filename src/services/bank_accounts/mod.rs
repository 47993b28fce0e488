//! Bank accounts: stores them and spends their single-use tokens (specification, Recipients; `docs/decisions.md`, 200
//! and 201).

mod branches;
mod expiry;
pub mod params;
pub mod view;

pub use expiry::BankAccountExpiryWork;

use base::secret::Secret;
use entity::bank_account::{self, BankAccountState, COLUMN, Column};
use entity::{AccountToken, BankAccountToken, JsonText, Listed, Timestamp, account};
use sea_orm::sea_query::Expr;
use sea_orm::{ActiveEnum, ColumnTrait, ConnectionTrait, QueryFilter};
use store::Tx;

use super::context::{Account, Caller, Context};
use super::data_keys::reencrypt::SealedTable;
use super::data_keys::unseal;
use super::idempotency;
use crate::config::Environment;
use crate::error::Error;
use crate::limits::{BANK_ACCOUNT_DIGITS_MAX, BANK_ACCOUNT_TOKEN_LIFETIME_MONTHS};
use crate::params::rules::bsb_digits;
use crate::params::values::INVALID;
use crate::params::{FieldErrors, Params};
use crate::services::bank_accounts::params::NewBankAccount;
use crate::services::bank_accounts::view::BankAccount;

/// A BSB that no bank has (`docs/decisions.md`, 200).
const REFUSED_BSB: &str = "123456";

/// The own bank account of the first account and of sandbox accounts (`docs/decisions.md`, 196).
const OWN_BSB: &str = "806015";
const OWN_NUMBER: &str = "987654321";

/// Stores a bank account in exchange for a single-use token.
///
/// Refusals: `invalid_resource`.
pub async fn store(
    ctx: &Context,
    caller: &Caller,
    params: Params<NewBankAccount>,
) -> Result<BankAccount, Error> {
    let Params { value, mut faults } = params;
    let row = validate(ctx, &caller.account, &value, "", &mut faults);
    let (Some(mut row), true) = (row, faults.is_empty()) else { return Err(faults.into()) };
    let latest = caller.account.now_by(ctx.trusted.latest());
    row.expires_at = Some(latest.plus_months(BANK_ACCOUNT_TOKEN_LIFETIME_MONTHS));
    let unit = idempotency::write(ctx, caller, row, async |tx, row| {
        tx.append(row);
        Ok(BankAccount::from(row.clone()))
    });
    unit.await
}

/// Checks a bank account's parameters, whose names begin with `at`. Returns the digits of the BSB if they are valid.
pub fn check(given: &NewBankAccount, at: &str, faults: &mut FieldErrors) -> Option<String> {
    // A value that is no bank account is one fault: what stands for its texts is blank.
    let number = given.number.expose().trim();
    let digits =
        number.len() <= BANK_ACCOUNT_DIGITS_MAX && number.bytes().all(|digit| digit.is_ascii_digit());
    if !number.is_empty() && !digits {
        faults.add(&format!("{at}number"), INVALID);
    }
    let bsb = bsb_digits(&given.bsb)?;
    if bsb == REFUSED_BSB {
        faults.add("bank_account", "Bank account is invalid");
    }
    Some(bsb)
}

/// Checks the parameters and makes the row: unused, its number sealed.
pub fn validate(
    ctx: &Context,
    account: &Account,
    given: &NewBankAccount,
    at: &str,
    faults: &mut FieldErrors,
) -> Option<bank_account::Model> {
    let bsb = check(given, at, faults)?;
    let number = given.number.expose().trim();
    Some(seal_number(ctx, (account.id(), account.now), &given.name, bsb, &number.into()))
}

/// Returns the bank account that an account opens with.
pub fn own(ctx: &Context, account: &account::Model) -> bank_account::Model {
    let number = OWN_NUMBER.into();
    let whose = (account.id, account.created_at);
    let row = seal_number(ctx, whose, &account.business_name, OWN_BSB.into(), &number);
    bank_account::Model { state: BankAccountState::Attached, ..row }
}

fn seal_number(
    ctx: &Context,
    (account_id, created_at): (AccountToken, Timestamp),
    name: &str,
    bsb: String,
    number: &Secret,
) -> bank_account::Model {
    let id: BankAccountToken = ctx.ids.token();
    let sealed = ctx.vault.seal(&context(account_id, id), number.expose().as_bytes());
    let (bank_name, branch) = branches::bank_and_branch(&bsb);
    bank_account::Model {
        account_id,
        id,
        state: BankAccountState::Unused,
        name: name.into(),
        bsb,
        number: masked(number.expose()),
        bank_name: bank_name.into(),
        branch: branch.into(),
        number_sealed: sealed.bytes,
        sealed_by: sealed.key,
        expires_at: None,
        created_at,
    }
}

/// Unseals the whole number, for paying to it.
pub async fn number(ctx: &Context, row: &bank_account::Model) -> Result<Secret, Error> {
    let plain = unseal(ctx, &context(row.account_id, row.id), row.sealed_by, &row.number_sealed).await?;
    let number = std::str::from_utf8(&plain).map_err(|_| Error::internal("an account number is no text"))?;
    Ok(number.into())
}

/// Returns the associated data that binds a ciphertext to its row.
fn context(account: AccountToken, id: BankAccountToken) -> Vec<u8> {
    format!("account number of {id} of {account}").into_bytes()
}

impl SealedTable for bank_account::Entity {
    const SEALED_BY: Column = Column::SealedBy;
    const SEALED: &'static [Column] = &[Column::NumberSealed];

    fn context(row: &bank_account::Model, _: Column) -> Vec<u8> {
        context(row.account_id, row.id)
    }
}

/// Masks all but the last three digits with X.
fn masked(number: &str) -> String {
    const SHOWN: usize = 3;
    let hidden = number.len().saturating_sub(SHOWN);
    number.chars().enumerate().map(|(n, digit)| if n < hidden { 'X' } else { digit }).collect()
}

/// Returns whether the bank returns payments to it: in test it does for account numbers that end in 999.
pub fn sends_back(environment: Environment, row: &bank_account::Model) -> bool {
    environment == Environment::Test && row.number.ends_with("999")
}

/// Returns the bank account as transfers and recipients store it, in the API's form.
pub fn to_json(row: bank_account::Model) -> Result<JsonText, Error> {
    Ok(JsonText::encode(&BankAccount::from(row))?)
}

/// Finds an account's bank account. An unused one that has expired is not found, even before a worker deletes it.
pub async fn find(
    ctx: &Context,
    account: &Account,
    id: BankAccountToken,
) -> Result<Option<bank_account::Model>, Error> {
    let row = load(ctx.store.read(), account.id(), id).await?;
    let expired = |row: &bank_account::Model| row.expires_at.is_some_and(|at| at <= account.now);
    Ok(row.filter(|row| !expired(row)))
}

/// Returns a bank account, also one that has expired.
pub async fn load(
    db: &impl ConnectionTrait,
    account: AccountToken,
    id: BankAccountToken,
) -> Result<Option<bank_account::Model>, Error> {
    Ok(bank_account::Entity::at(account, id).one(db).await?)
}

/// Attaches an unused token to a recipient. Returns false if it was used or has expired.
pub async fn attach(
    tx: &Tx,
    account: AccountToken,
    id: BankAccountToken,
    now: Timestamp,
) -> Result<bool, Error> {
    let attached = bank_account::Entity::update_at(account, id)
        .filter(Column::State.eq(BankAccountState::Unused))
        .filter(COLUMN.expires_at.gt(now))
        .col_expr(Column::State, Expr::value(ActiveEnum::into_value(BankAccountState::Attached)))
        .col_expr(Column::ExpiresAt, Expr::value(None::<i64>));
    Ok(tx.compare_and_set(attached).await?)
}

/// Deletes the former bank account of a recipient; transfers keep showing it.
pub async fn delete(tx: &Tx, account: AccountToken, id: BankAccountToken) -> Result<(), Error> {
    let gone = bank_account::Entity::delete_at(account, id);
    gone.exec(tx).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn only_the_last_three_digits_are_shown() {
        for (number, shown) in
            [("987654321", "XXXXXX321"), ("1234", "X234"), ("999", "999"), ("12", "12"), ("7", "7")]
        {
            assert_eq!(masked(number), shown);
        }
    }
}
