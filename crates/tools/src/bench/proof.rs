//! The proof at the end of a run: compares what the payers were answered, what the system lists and owns, and what the acquirer
//! has taken.

use std::collections::HashSet;
use std::error::Error;
use std::fmt::{self, Display, Formatter};

use http::Method;
use serde::Serialize;
use serde_json::Value;

use super::acquirer::PaymentNames;
use super::load::PayerAnswer;
use crate::api_client::ApiClient;

/// The largest page.
const PAGE: usize = 500;

/// The payments of a run that the system lists.
pub struct Listed {
    /// The number of charges of each payment.
    charges: Vec<u32>,
    /// The sum that all of them have earned the account, in cents.
    earned: i64,
    /// The tokens of all of them: a list that grows meanwhile shows the last ones of a page once more.
    tokens: HashSet<String>,
}

impl Listed {
    /// Reads the charges of a run. The list begins with the newest ones; a page may be shorter than was asked for.
    pub async fn read(
        server: &ApiClient,
        names: &PaymentNames,
        payments: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let mut listed = Self { charges: vec![0; payments], earned: 0, tokens: HashSet::new() };
        for page in 1..=payments + 1 {
            let path = format!("/1/charges?per_page={PAGE}&page={page}");
            let answer = server.answer_to(Method::GET, &path, None, &[]).await?;
            let charges = answer.record()?.as_array().ok_or("the list of charges is no list")?;
            if charges.iter().filter(|charge| listed.add(names, charge)).count() == 0 {
                break;
            }
        }
        Ok(listed)
    }

    /// Counts a charge. Returns whether it is of this run.
    fn add(&mut self, names: &PaymentNames, charge: &Value) -> bool {
        let number = charge["description"].as_str().and_then(|name| names.number(name));
        let Some(count) = number.and_then(|number| self.charges.get_mut(number)) else { return false };
        let is_new = charge["token"].as_str().is_none_or(|token| self.tokens.insert(token.to_owned()));
        if is_new && charge["success"] != false {
            *count += 1;
            self.earned += charge["merchant_entitlement"].as_i64().unwrap_or_default();
        }
        true
    }
}

/// Returns what an account owns, in cents; `None` if the system does not tell.
pub async fn balance(server: &ApiClient) -> Result<Option<i64>, Box<dyn Error>> {
    let answer = server.answer_once(Some(server.key()), Method::GET, "/1/balance", None, &[]).await?;
    match answer.status {
        200 => {}
        404 => return Ok(None),
        status => return Err(format!("GET /1/balance: {status} {}", answer.code()).into()),
    }
    let balance = &answer.body["response"];
    let parts = ["available", "pending"].iter().filter_map(|part| balance[*part].as_array()).flatten();
    Ok(Some(parts.filter_map(|money| money["amount"].as_i64()).sum()))
}

/// The results of the comparison: numbers of payments.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Those whose payer learned of a charge.
    pub charged: usize,
    /// Those whose payer learned that nothing was charged.
    pub not_charged: usize,
    /// Those whose payer learned nothing certain.
    pub unknown: usize,
    /// Those that were charged for the payer, and are not listed.
    pub lost: usize,
    /// Those that are listed, or were taken by the acquirer, more than once.
    pub doubled: usize,
    /// Those that were not charged for the payer, and are listed.
    pub contradicted: usize,
    /// Those that are listed and were not taken by the acquirer, or the reverse. None if the acquirer is not ours.
    pub unlike_acquirer: Option<usize>,
    /// The difference, in cents, between the growth of the balance and what the listed charges have earned. None if the system
    /// does not show its balance.
    pub balance_off_cents: Option<i64>,
    /// Whether `ledger verify` finds the books right. None if the server is not ours.
    pub books_are_right: Option<bool>,
    /// The numbers of the payments with which something is wrong.
    #[serde(skip)]
    pub wrong_payments: Vec<usize>,
}

impl Proof {
    /// Compares the payments of a run.
    pub fn new(answers: &[PayerAnswer], listed: &Listed, taken: Option<&[u32]>) -> Self {
        let mut proof = Self { unlike_acquirer: taken.map(|_| 0), ..Self::default() };
        for (number, (answer, &listed)) in answers.iter().zip(&listed.charges).enumerate() {
            match answer {
                PayerAnswer::Charged => proof.charged += 1,
                PayerAnswer::NotCharged => proof.not_charged += 1,
                PayerAnswer::Unknown => proof.unknown += 1,
            }
            let taken = taken.and_then(|taken| taken.get(number)).copied();
            let is_lost = *answer == PayerAnswer::Charged && listed == 0;
            let is_doubled = listed > 1 || taken.is_some_and(|taken| taken > 1);
            let is_contradicted = *answer == PayerAnswer::NotCharged && listed > 0;
            let is_unlike = proof.unlike_acquirer.is_some() && taken != Some(listed);
            proof.lost += usize::from(is_lost);
            proof.doubled += usize::from(is_doubled);
            proof.contradicted += usize::from(is_contradicted);
            proof.unlike_acquirer = proof.unlike_acquirer.map(|unlike| unlike + usize::from(is_unlike));
            if is_lost || is_doubled || is_contradicted || is_unlike {
                proof.wrong_payments.push(number);
            }
        }
        proof
    }

    /// Compares the balance before and after the run, if the system shows it.
    #[must_use]
    pub fn with_balance(self, before: Option<i64>, after: Option<i64>, listed: &Listed) -> Self {
        let off = before.zip(after).map(|(before, after)| after - before - listed.earned);
        Self { balance_off_cents: off, ..self }
    }

    /// Returns whether something is wrong that comes right once the system knows what became of every call.
    pub fn may_come_right(&self) -> bool {
        !self.is_good() && self.lost + self.doubled + self.contradicted == 0
    }

    /// Returns whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.lost + self.doubled + self.contradicted + self.unlike_acquirer.unwrap_or_default() == 0
            && self.balance_off_cents.unwrap_or_default() == 0
            && self.books_are_right != Some(false)
    }
}

impl Display for Proof {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { charged, not_charged, unknown, lost, doubled, contradicted, .. } = self;
        let all = charged + not_charged + unknown;
        writeln!(
            f,
            "Of all {all} payments {charged} were charged, {not_charged} were not, and {unknown} had no certain answer."
        )?;
        write!(
            f,
            "  {lost} were lost, {doubled} doubled, {contradicted} charged though the payer was told otherwise"
        )?;
        if let Some(unlike) = self.unlike_acquirer {
            write!(f, ", {unlike} differ from the acquirer's books")?;
        }
        if let Some(off) = self.balance_off_cents {
            write!(f, "\n  the balance is off by {off} cents")?;
        }
        match self.books_are_right {
            Some(true) => f.write_str("\n  the ledger's proofs hold"),
            Some(false) => f.write_str("\n  the ledger's proofs FAIL"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(charges: &[u32]) -> Listed {
        Listed {
            charges: charges.to_vec(),
            earned: 363 * i64::from(charges.iter().sum::<u32>()),
            tokens: HashSet::new(),
        }
    }

    #[test]
    fn payments_that_agree_are_good_and_an_uncertain_answer_may_be_either() {
        let answers =
            [PayerAnswer::Charged, PayerAnswer::NotCharged, PayerAnswer::Unknown, PayerAnswer::Unknown];
        let listed = listed(&[1, 0, 1, 0]);
        let proof = Proof::new(&answers, &listed, Some(&[1, 0, 1, 0]));
        assert!(proof.is_good(), "{proof:?}");
        assert_eq!((proof.charged, proof.not_charged, proof.unknown), (1, 1, 2));
        let proof = proof.with_balance(Some(1000), Some(1726), &listed);
        assert_eq!((proof.balance_off_cents, proof.is_good()), (Some(0), true));
        let proof = proof.with_balance(Some(1000), Some(1363), &listed);
        assert_eq!((proof.balance_off_cents, proof.is_good()), (Some(-363), false));
        assert!(proof.may_come_right(), "the balance may be late");
        assert!(!Proof { books_are_right: Some(false), ..Proof::default() }.is_good());
    }

    #[test]
    fn each_way_to_be_wrong_is_counted() {
        use PayerAnswer::{Charged, NotCharged};
        for (answer, listed_times, taken, expected) in [
            (Charged, 0, Some(0), Proof { lost: 1, ..Proof::default() }),
            (Charged, 0, Some(1), Proof { lost: 1, unlike_acquirer: Some(1), ..Proof::default() }),
            (Charged, 2, Some(2), Proof { doubled: 1, ..Proof::default() }),
            (Charged, 1, Some(2), Proof { doubled: 1, unlike_acquirer: Some(1), ..Proof::default() }),
            (NotCharged, 1, Some(1), Proof { contradicted: 1, ..Proof::default() }),
            (NotCharged, 0, Some(1), Proof { unlike_acquirer: Some(1), ..Proof::default() }),
            (NotCharged, 1, None, Proof { contradicted: 1, ..Proof::default() }),
        ] {
            let taken = taken.map(|taken| vec![taken]);
            let proof = Proof::new(&[answer], &listed(&[listed_times]), taken.as_deref());
            assert!(!proof.is_good());
            let unlike = expected.unlike_acquirer.or(taken.map(|_| 0));
            let (charged, not_charged) = if answer == Charged { (1, 0) } else { (0, 1) };
            assert_eq!(
                proof.may_come_right(),
                (expected.lost, expected.doubled, expected.contradicted) == (0, 0, 0)
            );
            let wrong_payments = vec![0];
            assert_eq!(
                proof,
                Proof { charged, not_charged, unlike_acquirer: unlike, wrong_payments, ..expected }
            );
        }
    }

    #[test]
    fn only_charges_of_the_run_are_read() {
        let names = PaymentNames::of_run(1);
        let mut listed = Listed { charges: vec![0; 2], earned: 0, tokens: HashSet::new() };
        let mut add = |name: &str, success| {
            listed
                .add(&names, &json!({ "description": name, "success": success, "merchant_entitlement": 363 }))
        };
        assert!(add(&names.name(1), true) && add(&names.name(0), false));
        for other in [names.name(2), PaymentNames::of_run(2).name(1), "Test".to_owned()] {
            assert!(!add(&other, true), "{other}");
        }
        assert_eq!((listed.charges, listed.earned), (vec![0, 1], 363));
    }
}
