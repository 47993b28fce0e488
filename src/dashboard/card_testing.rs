//! Card testing: the rules of the account, what is counted now, and the attacks that were noticed.

use axum::extract::State;
use entity::card_attack::{CardTestingCount, CardTestingRule, CardTestingTerms};
use maud::html;
use serde_json::json;

use super::auth::AccountSession;
use super::layout::{PageContent, PageResult};
use super::list::{Column, column, table};
use super::record::{Record, facts, words};
use super::state::DashboardState;
use crate::config::Environment;
use crate::services::card_testing;
use crate::services::memory::card_testing::CountedSubject;

/// The number of subjects that are shown.
const COUNTED: usize = 20;

const RULES: [Column; 4] = [
    column("Rule", |rule| words(rule.text("/rule"))),
    column("Notices", |rule| words(rule.text("/notices"))),
    column("Within", |rule| words(rule.text("/within"))).wide(),
    column("Then", |rule| words(rule.text("/then"))),
];

const COUNTS: [Column; 3] = [
    column("Subject", |count| words(count.text("/subject"))),
    column("Rule", |count| words(count.text("/rule"))),
    column("Count", |count| words(count.text("/count"))).figures(),
];

const ATTACKS: [Column; 5] = [
    column("Subject", |attack| words(attack.text("/subject"))),
    column("Rule", |attack| words(attack.text("/rule"))),
    column("Began", |attack| attack.ago("/began_at")),
    column("Ends", |attack| attack.ago("/ends_at")),
    column("Refused", |attack| words(attack.text("/refused"))).figures(),
];

pub async fn show(State(app): State<DashboardState>, user: AccountSession) -> PageResult {
    let (account, now) = (&user.account, user.account.now);
    let settings = account.settings().card_testing();
    let action = card_testing::action(app.environment, &settings);
    let rules = CardTestingRule::ALL.iter().map(|rule| {
        let terms = rule.terms();
        let threshold = settings.threshold(*rule);
        json!({
            "rule": name(*rule), "notices": notices(threshold, &terms),
            "within": format!("{} min", terms.window.whole_seconds() / 60),
            "then": if terms.may_refuse { action.code() } else { "report" },
        })
    });
    let counts = card_testing::counted(&app, account, COUNTED);
    let counts = counts.iter().map(|CountedSubject { rule, subject, count }| {
        json!({ "rule": name(*rule), "subject": subject, "count": count.to_string() })
    });
    let attacks = card_testing::list(&app, account).await?;
    let lasting = attacks.iter().filter(|attack| now < attack.ends_at).count();
    let attacks = attacks.iter().map(|attack| {
        json!({
            "rule": name(attack.rule), "subject": attack.subject, "refused": attack.refused.to_string(),
            "began_at": attack.began_at, "ends_at": attack.ends_at,
        })
    });
    let records = |rows: Vec<_>| Record::each(now, &rows);
    let content = html! {
        p { "Fraudsters try stolen cards with small payments. Payments of an attack that a rule has noticed fail with "
            code { "suspected_fraud" } ", and the acquirer is not called, if the account refuses them." }
        (facts(&[("Action", words(action.code())), ("Active attacks", words(&lasting.to_string()))]))
        (table("Attacks", &ATTACKS, &records(attacks.collect())?))
        (table("Counted now, by this server", &COUNTS, &records(counts.collect())?))
        (table("Rules", &RULES, &records(rules.collect())?))
    };
    Ok(match app.info.environment {
        Environment::Test => PageContent::new("/1/sandbox/account", "Card testing", content),
        Environment::Live => PageContent::bare("Card testing", content),
    })
}

fn name(rule: CardTestingRule) -> String {
    rule.code().replace('_', " ")
}

/// Returns what a rule notices, in words.
fn notices(threshold: i64, terms: &CardTestingTerms) -> String {
    if threshold == 0 {
        return "nothing: it is off".into();
    }
    let what = match terms.count {
        CardTestingCount::DeclinesInRow => "declines in a row",
        CardTestingCount::DeclinedCards => "declined cards, more than approvals",
    };
    let below = terms.below.map_or(String::new(), |below| format!(", each below {below} cents"));
    format!("{threshold} {what}{below}")
}
