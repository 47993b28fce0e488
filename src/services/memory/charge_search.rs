//! The memory that makes searches of charges fast (`services/charges/search.rs`): the words that are rare in an account, and the
//! number of charges that match a broad query.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use entity::{AccountToken, Timestamp};
use moka::future::Cache;

/// A part has at most so many characters: three trigrams.
const PART: usize = 5;
/// A part is rare if its trigrams are in at most one of so many texts.
const RARE: usize = 10;
/// The number of sizes that are kept while they are read.
const SIZES_MAX: u64 = 4_096;
const LIFETIME: Duration = Duration::from_hours(1);

/// The memory that makes searches fast: samples of accounts' texts, and the sizes of broad searches.
#[derive(Debug)]
pub struct SearchMemory {
    samples: Cache<AccountToken, Arc<Sample>>,
    pub sizes: Sizes,
}

impl Default for SearchMemory {
    fn default() -> Self {
        /// The number of accounts whose samples are kept.
        const SAMPLES_MAX: u64 = 64;
        const LIFETIME: Duration = Duration::from_mins(1);
        let samples = Cache::builder().max_capacity(SAMPLES_MAX).time_to_live(LIFETIME).build();
        Self { samples, sizes: Sizes::default() }
    }
}

impl SearchMemory {
    /// Returns the sample of the account's texts, if it is kept.
    pub async fn sample(&self, account: AccountToken) -> Option<Arc<Sample>> {
        self.samples.get(&account).await
    }

    /// Keeps a sample of the account's texts.
    pub async fn keep_sample(&self, account: AccountToken, sample: Arc<Sample>) {
        self.samples.insert(account, sample).await;
    }
}

/// A sample of an account's texts.
#[derive(Debug, Default)]
pub struct Sample {
    texts: usize,
    /// The number of texts in which a trigram occurs.
    trigrams: HashMap<[u8; 3], u16>,
    /// Whether the account has most of the database's charges, so that a condition on the account excludes few.
    pub has_most: bool,
}

impl Sample {
    /// Creates a sample without texts.
    pub fn new(has_most: bool) -> Self {
        Self { has_most, ..Self::default() }
    }

    pub fn add(&mut self, text: &str) {
        self.texts += 1;
        let mut trigrams: Vec<_> =
            text.as_bytes().windows(3).filter_map(|three| three.try_into().ok()).collect();
        trigrams.sort_unstable();
        trigrams.dedup();
        for trigram in trigrams {
            *self.trigrams.entry(trigram).or_default() += 1;
        }
    }

    /// Returns the rarest part of folded words, if one is rare. It consists of letters and digits without accents, from which
    /// both databases make the same trigrams.
    pub fn rarest_part<'w>(&self, words: &'w str) -> Option<&'w str> {
        let runs = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| run.len() >= 3);
        let parts = runs.flat_map(|run| {
            let length = run.len().min(PART);
            (0..=run.len() - length).filter_map(move |at| run.get(at..at + length))
        });
        let (texts, part) =
            parts.map(|part| (self.texts_with(part), part)).min_by_key(|(texts, _)| *texts)?;
        (self.texts > 0 && texts * RARE <= self.texts).then_some(part)
    }

    /// Returns the mean number of texts in which a trigram of the part occurs.
    fn texts_with(&self, part: &str) -> usize {
        let trigrams = part.as_bytes().windows(3);
        let all = trigrams.clone().map(|three| self.trigrams.get(three).copied().unwrap_or_default());
        all.map(usize::from).sum::<usize>() / trigrams.len()
    }
}

/// Sizes by account and folded query.
#[derive(Debug)]
pub struct Sizes(Cache<(AccountToken, String), Size>);

impl Default for Sizes {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(SIZES_MAX).time_to_idle(LIFETIME).build())
    }
}

/// The number of charges before a time, and of those that match.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// The time.
    pub before: Timestamp,
    /// The number of charges before it.
    pub charges: i64,
    /// The number of those charges that match.
    pub matching: i64,
    /// The state of the words that were compared.
    pub state: SizeState,
}

/// The numbers that change when words of earlier charges change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeState {
    /// The number of the account's clock moves.
    pub clock_moves: i64,
    /// The number of charges whose words were erased.
    pub erased: i64,
}

impl Sizes {
    /// Returns the kept size of a query.
    pub async fn kept(&self, account: AccountToken, words: &str) -> Option<Size> {
        self.0.get(&(account, words.to_owned())).await
    }

    /// Keeps the size of a query.
    pub async fn keep(&self, account: AccountToken, words: &str, size: Size) {
        self.0.insert((account, words.to_owned()), size).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_letters_and_digits_of_a_query_are_its_part() {
        let mut sample = Sample::default();
        for n in 100..400 {
            sample.add(&format!("order {n}000 of lot7\nbuyer{n}@example.com\nroland robot"));
        }
        for (words, part) in [
            ("wilhelmina@example.com", Some("wilhe")),
            ("roland robot 977", Some("977")),
            ("roland", None),
            ("@example.com", None),
            ("zo", None),
            ("z\u{f6}\u{e9}", None),
            ("zo\u{eb} quark", Some("quark")),
        ] {
            assert_eq!(sample.rarest_part(words), part, "{words}");
        }
        assert_eq!(Sample::default().rarest_part("wilhelmina"), None);
    }
}
