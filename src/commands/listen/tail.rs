//! The end of an account's list of events: what has joined it since the last look, each event once.
//!
//! Tokens are in the order in which events were recorded, and nearly in that in which they were committed: of two at once the
//! later one may be seen first. So a look goes on, past the newest event that it knows, to a whole page of known ones.

use std::collections::{BTreeMap, BTreeSet};

use card_payments::outbound::api_client::{ApiClient, ApiClientError};
use entity::EventToken;

use crate::commands::events::{Event, Page, page};

const PAGE: usize = 200;
/// How many are known by their tokens: some pages. What is older than these is known as well.
const KNOWN_MAX: usize = 5 * PAGE;

/// The events that are known.
pub struct EventCursor {
    known: BTreeSet<EventToken>,
    /// This one and all before it are known.
    floor: Option<EventToken>,
    /// The newest event and their number, as the last look found them.
    mark: ListPosition,
    /// A look that was cut off.
    begun: Option<Look>,
}

/// A look at what is new, as far as it came.
struct Look {
    /// What it was begun for.
    found: ListPosition,
    /// The page that it reads next. What joins the list meanwhile only shows it events that it knows.
    page: usize,
    new: BTreeMap<EventToken, Event>,
}

type ListPosition = (Option<EventToken>, u64);

fn mark(page: &Page) -> ListPosition {
    (page.events.first().map(|event| event.head.token), page.count)
}

impl EventCursor {
    /// From now on: what there is is known.
    pub async fn begin(server: &ApiClient) -> Result<Self, ApiClientError> {
        let last = page(server, 1, PAGE).await?;
        let known: BTreeSet<_> = last.events.iter().map(|event| event.head.token).collect();
        let floor = known.first().copied().filter(|_| known.len() == PAGE);
        Ok(Self { known, floor, mark: mark(&last), begun: None })
    }

    /// What is new, oldest first. A look that fails is gone on with by the next one.
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

    /// Read pages until one holds nothing new.
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
