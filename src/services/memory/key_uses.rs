//! Counts the uses of each key, by day and client address.
//!
//! A request only counts in memory; it reads and writes no row. A worker adds the counts to the table every few
//! seconds, and a server once more when it ends; a killed server loses its counts since. Memory and rows stay bounded,
//! however many keys and addresses there are: a key's addresses are distinguished only up to a limit a day, and a
//! publishable key's never, because its clients are other people's browsers (`docs/decisions.md`, 346).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

use base::hexadecimal;
use base::mutex::lock;
use base::request_context;
use base::secret::Secret;
use entity::api_key::KeyKind;
use entity::{AccountToken, Day, Timestamp};
use sea_orm::ConnectionTrait;
use store::{Tx, about};
use vault::{Purpose, Vault};

use crate::Store;
use crate::error::Error;
use crate::limits::{KEY_ADDRESSES_MAX, KEY_USES_BATCH, KEYS_COUNTED_MAX};

/// A keyed hash of a key, as in `api_keys`.
type Hash = [u8; 32];

/// A key that was used.
#[derive(Debug, Clone, Copy)]
pub struct UsedKey {
    account: AccountToken,
    kind: KeyKind,
    hash: Hash,
    /// The key's last characters, if it is long enough to keep the rest secret.
    tail: Option<[u8; TAIL]>,
}

/// The number of characters that distinguish the keys that this server generates.
const TAIL: usize = 4;
/// A shorter key is a tester's, and no part of it is shown.
const SHOWN_FROM: usize = 16;

impl UsedKey {
    /// Makes the entry of a key that authenticated an account, from the key and its keyed hash.
    pub fn new(account: AccountToken, kind: KeyKind, key: &Secret, hash: Hash) -> Self {
        let tail = key.expose().as_bytes().last_chunk().copied();
        let tail = tail.filter(|tail: &[u8; TAIL]| key.expose().len() >= SHOWN_FROM && tail.is_ascii());
        Self { account, kind, hash, tail }
    }

    /// Makes the entry of a key that may belong to an account.
    pub fn hashing(vault: &Vault, account: AccountToken, kind: KeyKind, key: &Secret) -> Self {
        let hash = vault.keyed_hash(Purpose::ApiKey, &[key.expose().as_bytes()]);
        Self::new(account, kind, key, hash)
    }

    /// Returns the key's display name: `...Ab3x`, its last characters, or for a short key `#9f86d081`, from its hash
    /// (`docs/decisions.md`, 347).
    pub fn name(&self) -> String {
        match &self.tail {
            Some(tail) => format!("...{}", String::from_utf8_lossy(tail)),
            None => format!("#{}", hexadecimal::encode(&self.hash[..TAIL])),
        }
    }
}

/// Uses of a key on one day from one address.
#[derive(Debug, Clone, Copy)]
struct Uses {
    key: UsedKey,
    /// `None` if the address is not kept, or unknown.
    from: Option<IpAddr>,
    first_at: Timestamp,
    last_at: Timestamp,
    n: i64,
}

/// The uses counted but not yet written, and the addresses by which a key's uses of today are distinguished.
#[derive(Debug, Default)]
pub struct KeyUses(Mutex<HashMap<(Hash, Day), Vec<Uses>>>);

impl KeyUses {
    /// Counts a request that authenticated with a key. Work outside a request (a worker's) uses none.
    pub fn count(&self, key: UsedKey, wall: Timestamp) {
        if !request_context::is_of_request() {
            return;
        }
        let from = match key.kind {
            KeyKind::Secret | KeyKind::Restricted => request_context::address(),
            KeyKind::Publishable => None,
        };
        self.add(Uses { key, from, first_at: wall, last_at: wall, n: 1 });
    }

    fn add(&self, more: Uses) {
        let mut counted = self.lock_counts();
        let of = (more.key.hash, more.last_at.day());
        if counted.len() >= KEYS_COUNTED_MAX && !counted.contains_key(&of) {
            counted.retain(|_, uses| uses.iter().any(|uses| uses.n > 0));
            if counted.len() >= KEYS_COUNTED_MAX {
                return;
            }
        }
        let known = counted.entry(of).or_default();
        let is_known = |from: &IpAddr| known.iter().any(|uses| uses.from == Some(*from));
        let from = more.from.filter(|from| known.len() < KEY_ADDRESSES_MAX || is_known(from));
        match known.iter_mut().find(|uses| uses.from == from) {
            Some(uses) if uses.n > 0 => {
                uses.n += more.n;
                uses.first_at = uses.first_at.min(more.first_at);
                uses.last_at = uses.last_at.max(more.last_at);
            }
            Some(uses) => *uses = Uses { from, ..more },
            None => known.push(Uses { from, ..more }),
        }
    }

    /// Returns the last use of a key today that this process knows of, written or not.
    pub fn last_use(&self, hash: Hash, today: Day) -> Option<Timestamp> {
        self.lock_counts().get(&(hash, today))?.iter().map(|uses| uses.last_at).max()
    }

    /// Takes the counts to write, always in the same order, so that two servers that write the same rows do not
    /// deadlock.
    fn take(&self, today: Day) -> Vec<Uses> {
        let mut taken = Vec::new();
        let mut counted = self.lock_counts();
        for uses in counted.values_mut().flatten().filter(|uses| uses.n > 0) {
            taken.push(*uses);
            uses.n = 0;
        }
        counted.retain(|(_, day), _| *day >= today);
        drop(counted);
        taken.sort_unstable_by_key(|uses| (uses.key.hash, uses.last_at.day(), uses.from));
        taken
    }

    /// Adds the counts to the table, a few rows a unit, so that no payment waits for all of it. Counts that the database
    /// rejects stay counted.
    pub async fn write(&self, store: &Store, today: Day) -> Result<(), Error> {
        let taken = self.take(today);
        let mut left = taken.chunks(KEY_USES_BATCH);
        while let Some(some) = left.next() {
            let unit = store.write(some.to_vec(), async |tx, some| add(tx, some).await);
            if let Err(error) = unit.await {
                for uses in some.iter().chain(left.flatten()) {
                    self.add(*uses);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn lock_counts(&self) -> MutexGuard<'_, HashMap<(Hash, Day), Vec<Uses>>> {
        lock(&self.0)
    }
}

const COLUMNS: [&str; 9] =
    ["account_id", "hash", "day", "address", "kind", "key_name", "first_at", "last_at", "uses"];

/// Only for open accounts: nothing more is stored for a deleted one.
const ADD: &str = "INSERT INTO key_uses (account_id, hash, day, address, kind, key_name, first_at, last_at, uses) \
     SELECT v.account_id, v.hash, v.day, v.address, v.kind, v.key_name, v.first_at, v.last_at, v.uses \
     FROM v JOIN accounts a ON a.id = v.account_id WHERE a.closed_at IS NULL \
     ON CONFLICT (account_id, hash, day, address) DO UPDATE SET uses = key_uses.uses + excluded.uses, \
     first_at = CASE WHEN excluded.first_at < key_uses.first_at THEN excluded.first_at ELSE key_uses.first_at END, \
     last_at = CASE WHEN excluded.last_at > key_uses.last_at THEN excluded.last_at ELSE key_uses.last_at END";

async fn add(tx: &Tx, some: &[Uses]) -> Result<(), Error> {
    let row = |uses: &Uses| {
        let Uses { key, from, first_at, last_at, n } = uses;
        let address = from.map(|from| from.to_string()).unwrap_or_default();
        let day = last_at.day().number();
        vec![
            key.account.into(),
            key.hash.to_vec().into(),
            day.into(),
            address.into(),
            key.kind.code().into(),
            key.name().into(),
            first_at.millis().into(),
            last_at.millis().into(),
            (*n).into(),
        ]
    };
    let rows = some.iter().map(row).collect();
    tx.execute_raw(about(tx.get_database_backend(), &COLUMNS, rows, ADD)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use uuid::Uuid;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_772_452_800_000);

    fn key(n: u8) -> UsedKey {
        let secret = Secret::from("0123456789abcdefghijkl");
        UsedKey::new(AccountToken::new(Uuid::from_u128(1)), KeyKind::Secret, &secret, [n; 32])
    }

    fn used(key: UsedKey, from: u32, at: i64) -> Uses {
        let at = Timestamp::from_millis(NOON.millis() + at);
        Uses { key, from: Some(Ipv4Addr::from(from).into()), first_at: at, last_at: at, n: 1 }
    }

    fn all(counted: &KeyUses) -> i64 {
        counted.take(NOON.day()).iter().map(|uses| uses.n).sum()
    }

    #[test]
    fn a_key_is_named_by_its_end_and_a_short_one_by_its_hash() {
        assert_eq!(key(7).name(), "...ijkl");
        let short = Secret::from("sk_short");
        let account = AccountToken::new(Uuid::from_u128(1));
        assert_eq!(UsedKey::new(account, KeyKind::Secret, &short, [0x9f; 32]).name(), "#9f9f9f9f");
    }

    #[test]
    fn uses_are_summed_by_key_day_and_address_and_written_once() {
        let counted = KeyUses::default();
        for (n, from, at) in [(1, 1, 5), (1, 1, 3), (1, 2, 4), (2, 1, 4), (1, 1, 90_000_000)] {
            counted.add(used(key(n), from, at));
        }
        let taken = counted.take(NOON.day());
        let sums: Vec<_> = taken.iter().map(|uses| (uses.key.hash[0], uses.n)).collect();
        assert_eq!(sums, [(1, 2), (1, 1), (1, 1), (2, 1)]);
        assert_eq!((taken[0].first_at - NOON).millis(), 3);
        assert_eq!((taken[0].last_at - NOON).millis(), 5);
        assert_eq!(all(&counted), 0);
        counted.add(used(key(1), 1, 6));
        let again = counted.take(NOON.day());
        assert_eq!((again.len(), again[0].n, (again[0].first_at - NOON).millis()), (1, 1, 6));
    }

    #[test]
    fn memory_is_bounded_however_many_keys_and_addresses_there_are() {
        let counted = KeyUses::default();
        let addresses = u32::try_from(KEY_ADDRESSES_MAX).unwrap_or_default();
        for from in 0..10 * addresses {
            counted.add(used(key(1), from, 0));
        }
        let taken = counted.take(NOON.day());
        assert_eq!(taken.len(), KEY_ADDRESSES_MAX + 1, "the rest is together");
        assert_eq!(taken.iter().map(|uses| uses.n).sum::<i64>(), i64::from(10 * addresses));
        let hash = |n: usize| std::array::from_fn(|at| n.to_le_bytes().get(at).copied().unwrap_or_default());
        for n in 0..2 * KEYS_COUNTED_MAX {
            counted.add(used(UsedKey { hash: hash(n), ..key(1) }, 1, 0));
        }
        assert!(counted.lock_counts().len() <= KEYS_COUNTED_MAX);
        assert!(all(&counted) > 0);
        // Written counts free their place.
        counted.add(used(UsedKey { hash: hash(9 * KEYS_COUNTED_MAX), ..key(1) }, 1, 0));
        assert_eq!(all(&counted), 1);
    }
}
