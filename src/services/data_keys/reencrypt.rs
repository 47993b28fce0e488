//! Encrypts rows again with the current data key. A scan along the primary key of every listed table with sealed
//! columns finds the rows of a former key: in small batches, one commit each, every row by compare-and-set on its
//! ciphertexts. A row changed concurrently is read once more, so that erased data stays erased.

use std::any::Any;
use std::sync::Arc;

use base::crash_points;
use entity::{
    api_key, bank_account, card, idempotency_answer, merchant, snapshot_part, wallet_certificate,
    webhook_endpoint,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::sea_query::{Expr, ExprTrait, IntoValueTuple, SimpleExpr};
use sea_orm::{
    ColumnTrait, EntityName, EntityTrait, Iterable, ModelTrait, PaginatorTrait, PrimaryKeyToColumn,
    PrimaryKeyTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select, UpdateMany, Value,
};
use uuid::Uuid;
use vault::DataKeys;

use crate::error::Error;
use crate::limits::{SEALED_BATCH, SEALED_STRETCH};
use crate::services::context::Context;
use crate::services::data_keys::reload;

/// A table with sealed columns; implemented in the module that seals them.
pub trait SealedTable: EntityTrait<Model: ModelTrait + Send + Sync + 'static> {
    /// The data key of all of a row's ciphertexts.
    const SEALED_BY: Self::Column;

    /// The columns that hold ciphertexts.
    const SEALED: &'static [Self::Column];

    /// Returns the associated data of the ciphertext in a column.
    fn context(row: &Self::Model, column: Self::Column) -> Vec<u8>;
}

/// Every table with sealed columns.
pub const TABLES: &[Table] = &[
    Table::for_table::<api_key::Entity>(),
    Table::for_table::<card::Entity>(),
    Table::for_table::<bank_account::Entity>(),
    Table::for_table::<webhook_endpoint::Entity>(),
    Table::for_table::<wallet_certificate::Entity>(),
    Table::for_table::<idempotency_answer::Entity>(),
    Table::for_table::<merchant::Entity>(),
    Table::for_table::<snapshot_part::Entity>(),
];

/// Finds the table of this name, if it has sealed columns.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.columns().0 == name)
}

#[derive(Clone, Copy)]
pub struct Table {
    columns: fn() -> (&'static str, Vec<String>),
    count: fn(&Context, Uuid) -> BoxFuture<'_, Result<u64, Error>>,
    reencrypt: fn(&Context, Uuid, Option<RowKey>) -> ReencryptFuture<'_>,
    open: fn(&DataKeys, &mut dyn Any) -> Result<(), Error>,
    close: fn(&DataKeys, &mut dyn Any) -> Result<(), Error>,
}

impl Table {
    const fn for_table<T: SealedTable>() -> Self {
        let reencrypt: fn(&Context, Uuid, Option<RowKey>) -> ReencryptFuture<'_> =
            |ctx, former, after| reencrypt_stretch::<T>(ctx, former, after).boxed();
        let count: fn(&Context, Uuid) -> BoxFuture<'_, Result<u64, Error>> =
            |ctx, key| count_rows::<T>(ctx, key).boxed();
        Self { columns: columns::<T>, count, reencrypt, open: open::<T>, close: close::<T> }
    }

    /// Returns the table's name and the columns that hold ciphertexts.
    pub fn columns(&self) -> (&'static str, Vec<String>) {
        (self.columns)()
    }

    /// Decrypts the sealed columns of a row, a `Model`, in place: for a copy that is sealed as a whole.
    pub fn open(&self, keys: &DataKeys, row: &mut dyn Any) -> Result<(), Error> {
        (self.open)(keys, row)
    }

    /// Seals the columns of the row again with the current key.
    pub fn close(&self, keys: &DataKeys, row: &mut dyn Any) -> Result<(), Error> {
        (self.close)(keys, row)
    }
}

fn open<T: SealedTable>(keys: &DataKeys, row: &mut dyn Any) -> Result<(), Error> {
    let row = row_of::<T>(row)?;
    let Value::Uuid(Some(key)) = row.get(T::SEALED_BY) else { return Ok(()) };
    for &column in T::SEALED {
        if let Value::Bytes(Some(bytes)) = row.get(column) {
            let plain = keys.open(&T::context(row, column), key, &bytes)?;
            row.try_set(column, plain.to_vec().into())?;
        }
    }
    Ok(())
}

fn close<T: SealedTable>(keys: &DataKeys, row: &mut dyn Any) -> Result<(), Error> {
    let row = row_of::<T>(row)?;
    for &column in T::SEALED {
        if let Value::Bytes(Some(plain)) = row.get(column) {
            let sealed = keys.seal(&T::context(row, column), &plain);
            row.try_set(column, sealed.bytes.into())?;
            row.try_set(T::SEALED_BY, sealed.key.into())?;
        }
    }
    Ok(())
}

fn row_of<T: SealedTable>(row: &mut dyn Any) -> Result<&mut T::Model, Error> {
    row.downcast_mut().ok_or_else(|| Error::internal("a row of another table"))
}

fn columns<T: SealedTable>() -> (&'static str, Vec<String>) {
    use sea_orm::IdenStatic as _;
    (
        EntityName::table_name(&T::default()),
        T::SEALED.iter().map(|column| column.as_str().to_owned()).collect(),
    )
}

/// The result of a scan.
#[derive(Debug, Default, Clone, Copy)]
pub struct ReencryptionReport {
    /// Rows that were encrypted again.
    pub reencrypted: u64,
    /// Rows that name the key but that it does not open.
    pub damaged: u64,
}

/// Counts the rows that `key` seals.
pub async fn count(ctx: &Context, key: Uuid) -> Result<u64, Error> {
    let mut rows = 0;
    for table in TABLES {
        rows += (table.count)(ctx, key).await?;
    }
    Ok(rows)
}

/// Encrypts again, with the current key, all rows that `key` seals; passes the number done to `on_progress`.
pub async fn reencrypt(
    ctx: &Context,
    key: Uuid,
    on_progress: impl Fn(u64),
) -> Result<ReencryptionReport, Error> {
    let mut report = ReencryptionReport::default();
    for table in TABLES {
        report.damaged += loop {
            let (mut after, mut changed, mut damaged) = (None, 0, 0);
            loop {
                let stretch = (table.reencrypt)(ctx, key, after).await?;
                report.reencrypted += stretch.reencrypted;
                on_progress(report.reencrypted);
                damaged += stretch.damaged;
                changed += stretch.changed;
                after = stretch.last;
                if after.is_none() {
                    break;
                }
            }
            if changed == 0 {
                break damaged;
            }
        };
    }
    Ok(report)
}

/// The former key to replace, and the keys that open and seal its rows.
struct ScanKeys {
    former: Uuid,
    all: Arc<DataKeys>,
}

impl ScanKeys {
    /// Reads the keys anew: during a long scan another rotation may retire, and a server delete, the key that sealed at its start.
    async fn read(ctx: &Context, former: Uuid) -> Result<Self, Error> {
        reload(ctx).await?;
        let all = ctx.vault.data_keys();
        if all.current() == former {
            return Err(Error::internal("the data key that seals is no former one"));
        }
        Ok(Self { former, all })
    }
}

type ReencryptFuture<'a> = BoxFuture<'a, Result<SealedStretch, Error>>;

/// A row's primary key.
type RowKey = Vec<Value>;

/// The result of a stretch.
struct SealedStretch {
    reencrypted: u64,
    damaged: u64,
    /// Rows changed or deleted concurrently.
    changed: u64,
    /// The primary key of the last row; `None` at the end of the table.
    last: Option<RowKey>,
}

/// A stretch of a table. No index finds the rows of a data key, so a statement without an end may read the whole table.
struct Stretch {
    after: Option<RowKey>,
    /// The key of the last row; `None` at the end of the table.
    last: Option<RowKey>,
}

impl Stretch {
    async fn find<T: SealedTable>(ctx: &Context, after: Option<RowKey>) -> Result<Self, Error> {
        let rows = rows_after::<T>(after.clone()).offset(SEALED_STRETCH - 1);
        let keys = rows.select_only().columns(key_columns::<T>());
        let last = keys.into_tuple::<<T::PrimaryKey as PrimaryKeyTrait>::ValueType>();
        let last = last.one(ctx.store.read()).await?;
        Ok(Self { after, last: last.map(|key| key.into_value_tuple().into_iter().collect()) })
    }

    /// Selects its rows that this data key seals, in the order of their keys.
    fn sealed_by<T: SealedTable>(&self, data_key: Uuid) -> Select<T> {
        rows_after::<T>(self.after.clone())
            .filter(T::SEALED_BY.eq(data_key))
            .apply_if(self.last.clone(), |rows, last| rows.filter(key::<T>().lte(value(last))))
    }
}

fn rows_after<T: SealedTable>(after: Option<RowKey>) -> Select<T> {
    let rows = T::find().apply_if(after, |rows, after| rows.filter(key::<T>().gt(value(after))));
    key_columns::<T>().fold(rows, QueryOrder::order_by_asc)
}

fn key_columns<T: SealedTable>() -> impl Iterator<Item = T::Column> {
    T::PrimaryKey::iter().map(PrimaryKeyToColumn::into_column)
}

fn key<T: SealedTable>() -> SimpleExpr {
    Expr::tuple(key_columns::<T>().map(Expr::col))
}

fn value(key: RowKey) -> SimpleExpr {
    Expr::tuple(key.into_iter().map(Expr::value))
}

async fn count_rows<T: SealedTable>(ctx: &Context, data_key: Uuid) -> Result<u64, Error> {
    let (mut rows, mut after) = (0, None);
    loop {
        let stretch = Stretch::find::<T>(ctx, after).await?;
        rows += stretch.sealed_by::<T>(data_key).count(ctx.store.read()).await?;
        after = stretch.last;
        if after.is_none() {
            return Ok(rows);
        }
    }
}

async fn reencrypt_stretch<T: SealedTable>(
    ctx: &Context,
    former: Uuid,
    after: Option<RowKey>,
) -> Result<SealedStretch, Error> {
    let mut stretch = Stretch::find::<T>(ctx, after).await?;
    let mut done = SealedStretch { reencrypted: 0, damaged: 0, changed: 0, last: stretch.last.clone() };
    loop {
        let keys = ScanKeys::read(ctx, former).await?;
        let rows = stretch.sealed_by::<T>(former).limit(SEALED_BATCH).all(ctx.store.read()).await?;
        let mut updates = Vec::new();
        for row in &rows {
            match update::<T>(&keys, row) {
                Ok(update) => updates.push(update),
                Err(error) => {
                    tracing::error!(table = T::default().table_name(), %error, "a sealed row is damaged");
                    done.damaged += 1;
                }
            }
        }
        let found = updates.len() as u64;
        let unit = ctx.store.write(updates, async |tx, updates| {
            let mut reencrypted = 0;
            for update in updates {
                reencrypted += update.clone().exec(tx).await?.rows_affected;
            }
            Ok(reencrypted)
        });
        let reencrypted = unit.await?;
        if reencrypted > 0 {
            crash_points::point("vault", "batch.after");
        }
        done.reencrypted += reencrypted;
        done.changed += found - reencrypted;
        match rows.last() {
            Some(last) if rows.len() as u64 == SEALED_BATCH => {
                stretch.after = Some(key_columns::<T>().map(|column| last.get(column)).collect());
            }
            _ => return Ok(done),
        }
    }
}

/// Returns the update that encrypts the row again, if its ciphertexts are still the same.
fn update<T: SealedTable>(keys: &ScanKeys, row: &T::Model) -> Result<UpdateMany<T>, Error> {
    let mut update = T::update_many().col_expr(T::SEALED_BY, Expr::value(keys.all.current()));
    for column in key_columns::<T>() {
        update = update.filter(column.eq(row.get(column)));
    }
    for &column in T::SEALED {
        let Value::Bytes(Some(bytes)) = row.get(column) else {
            update = update.filter(column.is_null());
            continue;
        };
        let context = T::context(row, column);
        let resealed = keys.all.seal(&context, &keys.all.open(&context, keys.former, &bytes)?);
        let resealed: SimpleExpr = Expr::value(resealed.bytes);
        update = update.filter(column.eq(bytes)).col_expr(column, resealed);
    }
    Ok(update)
}
