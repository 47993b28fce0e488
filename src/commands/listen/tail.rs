//! The end of an account's list of events: what has joined it since the last look, each event once.
//!
//! Tokens are in the order in which events were recorded, and nearly in that in which they were committed: of two at once the
//! later one may be seen first. So a look goes on, past the newest event that it knows, to a whole page of known ones.

use std::collections::{BTreeMap, BTreeSet};

use card_payments::remote::{Server, ServerError};
use entity::EventToken;

use crate::commands::events::{Event, Page, page};

const PAGE: usize = 200;
/// How many are known by their tokens: some pages. What is older than these is known as well.
const KNOWN_MAX: usize = 5 * PAGE;

/// The events that are known.
pub struct Tail {
    known: BTreeSet<EventToken>,
    /// This one and all before it are known.
    floor: Option<EventToken>,
    /// The newest event and their number, as the last look found them.
    mark: Mark,
}

type Mark = (Option<EventToken>, u64);

fn mark(page: &Page) -> Mark {
    (page.events.first().map(|event| event.head.token), page.count)
}

impl Tail {
    /// From now on: what there is is known.
    pub async fn begin(server: &Server) -> Result<Self, ServerError> {
        let last = page(server, 1, PAGE).await?;
        let known: BTreeSet<_> = last.events.iter().map(|event| event.head.token).collect();
        let floor = known.first().copied().filter(|_| known.len() == PAGE);
        Ok(Self { known, floor, mark: mark(&last) })
    }

    /// What is new, oldest first. A look that fails has seen nothing.
    pub async fn look(&mut self, server: &Server) -> Result<Vec<Event>, ServerError> {
        let found = mark(&page(server, 1, 1).await?);
        if found == self.mark {
            return Ok(Vec::new());
        }
        let mut new = BTreeMap::new();
        for n in 1.. {
            let Page { events, .. } = page(server, n, PAGE).await?;
            let is_last = events.len() < PAGE;
            // Of more that happens meanwhile, pages show some events twice.
            let joined: Vec<_> = events.into_iter().filter(|event| self.is_new(event.head.token)).collect();
            if joined.is_empty() {
                break;
            }
            new.extend(joined.into_iter().map(|event| (event.head.token, event)));
            if is_last {
                break;
            }
        }
        self.mark = found;
        self.known.extend(new.keys());
        while self.known.len() > KNOWN_MAX {
            self.floor = self.known.pop_first();
        }
        Ok(new.into_values().collect())
    }

    fn is_new(&self, token: EventToken) -> bool {
        self.floor.is_none_or(|floor| floor < token) && !self.known.contains(&token)
    }
}
