//! Lists that grow while a client reads them: deliveries of an inbox, and lists that a client waits for. A replay waits for as many
//! records as the recorded answer counts, and compares these.

use std::cmp::Reverse;

use recording::Exchange;
use serde_json::{Map, Value};

/// The most records that a request can wait for.
const COUNT_MAX: u64 = 1000;
/// The longest wait, in seconds.
const WAIT_MAX: u64 = 30;

/// A recorded read of such a list.
pub struct GrowingList {
    /// The number of records that there were.
    count: u64,
    is_of_inbox: bool,
}

impl GrowingList {
    /// Returns the list that a request has read; None if it has read no such list.
    pub fn from_exchange(exchange: &Exchange) -> Option<Self> {
        let is_of_inbox =
            exchange.path.starts_with("/1/sandbox/inboxes/") && exchange.path.ends_with("/deliveries");
        let grows = is_of_inbox || exchange.parameters.contains_key("wait");
        if exchange.method != "GET" || exchange.status != 200 || !grows {
            return None;
        }
        Some(Self { count: count(&exchange.body)?, is_of_inbox })
    }

    /// Makes the parameters wait for as many records.
    pub fn wait(&self, parameters: &mut Map<String, Value>) {
        if (1..=COUNT_MAX).contains(&self.count) {
            parameters.insert("count".into(), self.count.into());
            parameters.insert("wait".into(), WAIT_MAX.into());
        } else {
            parameters.remove("count");
            parameters.remove("wait");
        }
    }

    /// Leaves out what differs between two runs: records that came after those of the recording, and the order of deliveries that
    /// were in flight at the same time.
    pub fn align(&self, recorded: &mut Value, answered: &mut Value) {
        let found = count(answered).unwrap_or_default();
        let later = usize::try_from(found.saturating_sub(self.count)).unwrap_or(usize::MAX);
        if let Some(records) = records(answered)
            && later > 0
            && records.len() as u64 == found
        {
            records.drain(..later);
            for counts in ["count", "pagination"] {
                if let Some(count) = recorded.get(counts) {
                    answered[counts] = count.clone();
                }
            }
        }
        if self.is_of_inbox {
            for deliveries in [recorded, answered].into_iter().filter_map(records) {
                deliveries.sort_by_key(|delivery| Reverse(sequence(delivery)));
                for delivery in deliveries.iter_mut().filter_map(Value::as_object_mut) {
                    delivery.shift_remove("number");
                }
            }
        }
    }
}

fn count(list: &Value) -> Option<u64> {
    list.pointer("/pagination/count")?.as_u64()
}

fn records(list: &mut Value) -> Option<&mut Vec<Value>> {
    list.get_mut("response")?.as_array_mut()
}

/// Returns the number of the delivered event.
fn sequence(delivery: &Value) -> Option<u64> {
    let body: Value = serde_json::from_str(delivery["body"].as_str()?).ok()?;
    body["sequence"].as_u64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(numbers: &[u64], sequences: &[u64]) -> Value {
        let deliveries = numbers.iter().zip(sequences).map(|(number, sequence)| {
            json!({ "number": number, "body": json!({ "sequence": sequence }).to_string() })
        });
        json!({
            "response": deliveries.collect::<Vec<_>>(), "count": numbers.len(), "pagination": { "count": numbers.len() },
        })
    }

    #[test]
    fn later_deliveries_and_the_order_of_concurrent_ones_are_left_out() {
        let deliveries = GrowingList { count: 2, is_of_inbox: true };
        let (mut recorded, mut answered) = (list(&[2, 1], &[8, 7]), list(&[3, 2, 1], &[9, 7, 8]));
        deliveries.align(&mut recorded, &mut answered);
        assert_eq!(recorded, answered);
        let mut fewer = list(&[1], &[7]);
        deliveries.align(&mut recorded, &mut fewer);
        assert_ne!(recorded, fewer);
    }

    #[test]
    fn a_page_of_a_longer_list_stays_as_it_is() {
        let events = GrowingList { count: 2, is_of_inbox: false };
        let mut answered = list(&[5, 4], &[5, 4]);
        answered["pagination"]["count"] = 5.into();
        let before = answered.clone();
        events.align(&mut list(&[2, 1], &[2, 1]), &mut answered);
        assert_eq!(answered, before);
    }
}
