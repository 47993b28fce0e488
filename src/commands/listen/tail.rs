//! The end of an account's list of events: the events added since the last poll, each once.
//!
//! Tokens are in the order in which events were recorded, and nearly in the order of their commits: of two concurrent events the
//! later may be seen first. So a poll reads on past the newest known event, until a whole page is known.

use std::collections::{BTreeMap, BTreeSet};

use card_payments::outbound::api_client::{ApiClient, ApiClientError};
use entity::EventToken;

use crate::commands::events::{Event, Page, page};

const PAGE: usize = 200;
/// The number of events that are remembered by token: some pages. All older ones are known, too.
const KNOWN_MAX: usize = 5 * PAGE;

/// The known events.
pub struct EventCursor {
    known: BTreeSet<EventToken>,
    /// This event and all before it are known.
    floor: Option<EventToken>,
    /// The newest event and the number of events at the last poll.
    mark: ListPosition,
    /// An unfinished poll.
    begun: Option<Look>,
}

/// The progress of a poll for new events.
struct Look {
    /// The position of the list when the poll began.
    found: ListPosition,
    /// The next page to read. Events added meanwhile only make it read known events again.
    page: usize,
    new: BTreeMap<EventToken, Event>,
}

type ListPosition = (Option<EventToken>, u64);

fn mark(page: &Page) -> ListPosition {
    (page.events.first().map(|event| event.head.token), page.count)
}

impl EventCursor {
    /// Begins now: all existing events are known.
    pub async fn begin(server: &ApiClient) -> Result<Self, ApiClientError> {
        let last = page(server, 1, PAGE).await?;
        let known: BTreeSet<_> = last.events.iter().map(|event| event.head.token).collect();
        let floor = known.first().copied().filter(|_| known.len() == PAGE);
        Ok(Self { known, floor, mark: mark(&last), begun: None })
    }

    /// Returns the new events, oldest first. A failed poll is continued by the next one.
    pub async fn look(&mut self, server: &ApiClient) -> Result<Vec<Event>, ApiClientError> {
        let mut look = if let Some(look) = self.begun.take() {
            look
        } else {
            let found = mark(&page(server, 1, 1).await?);
            if found == self.mark {
                return Ok(Vec::new());
            }
            Look { found, page: 1, new: BTreeMap::new() }
        };
        if let Err(error) = self.read(server, &mut look).await {
            self.begun = Some(look);
            return Err(error);
        }
        self.mark = look.found;
        self.known.extend(look.new.keys());
        while self.known.len() > KNOWN_MAX {
            self.floor = self.known.pop_first();
        }
        Ok(look.new.into_values().collect())
    }

    /// Reads pages until one has nothing new.
    async fn read(&self, server: &ApiClient, look: &mut Look) -> Result<(), ApiClientError> {
        loop {
            let Page { events, .. } = page(server, look.page, PAGE).await?;
            let is_last = events.len() < PAGE;
            let joined: Vec<_> = events.into_iter().filter(|event| self.is_new(event.head.token)).collect();
            let is_known = joined.is_empty();
            look.new.extend(joined.into_iter().map(|event| (event.head.token, event)));
            if is_known || is_last {
                return Ok(());
            }
            look.page += 1;
        }
    }

    fn is_new(&self, token: EventToken) -> bool {
        self.floor.is_none_or(|floor| floor < token) && !self.known.contains(&token)
    }
}
