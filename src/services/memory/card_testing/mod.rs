//! The memory of a process about card testing (`services/card_testing`): the counts of its own payments, and the attacks.

mod attacks;
mod subject;
mod windows;

use std::sync::{Mutex, MutexGuard};

use entity::card_attack::CardTestingRule;

pub use self::attacks::{KnownAttack, KnownAttacks, READ_BACK};
pub use self::subject::{CardHash, Subject, cardholders_network};
pub use self::windows::{Attempt, Windows};
use base::mutex::lock;

/// The counts and attacks that the process knows.
#[derive(Debug, Default)]
pub struct CardTesting(Mutex<CardTestingMemory>);

/// The counts, and the attacks that were noticed by them.
#[derive(Debug, Default)]
pub struct CardTestingMemory {
    pub windows: Windows,
    pub attacks: KnownAttacks,
}

impl CardTesting {
    /// Locks both.
    pub fn lock(&self) -> MutexGuard<'_, CardTestingMemory> {
        lock(&self.0)
    }
}

/// The count of a rule for one subject at this moment, in this process.
#[derive(Debug, Clone)]
pub struct CountedSubject {
    pub rule: CardTestingRule,
    /// The subject, as attacks name it.
    pub subject: String,
    pub count: i64,
}
