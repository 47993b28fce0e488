use futures_util::stream::{self, Stream, TryStreamExt};

use crate::Error;

/// A page of a list.
pub trait Page {
    /// What is listed.
    type Item;

    /// The records on all pages, and the records per page.
    fn position(&self) -> (i64, i64);

    /// The records on this page.
    fn into_items(self) -> Vec<Self::Item>;
}

/// Returns the items of all pages that `get` returns by their numbers, from 1, each page when it is reached:
///
/// ```ignore
/// let mut charges = pin!(items(|page| {
///     list_charges(&client, ListChargesParams { page: Some(page), ..Default::default() })
/// }));
/// while let Some(charge) = charges.try_next().await? { ... }
/// ```
pub fn items<P: Page, F: Future<Output = Result<P, Error>>>(
    mut get: impl FnMut(i64) -> F,
) -> impl Stream<Item = Result<P::Item, Error>> {
    stream::try_unfold(Some(1), move |number| {
        let request = number.map(|number| (number, get(number)));
        async move {
            let Some((number, request)) = request else { return Ok(None) };
            let page = request.await?;
            let (count, per_page) = page.position();
            let next = (number * per_page < count).then_some(number + 1);
            Ok::<_, Error>(Some((stream::iter(page.into_items().into_iter().map(Ok)), next)))
        }
    })
    .try_flatten()
}
