//! Verifies the audit trail: every sealed entry is as it was sealed, none is missing, and the anchor's heads fit
//! (`docs/decisions.md`, 385). Only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use entity::Timestamp;
use sea_orm::{ConnectionTrait, PaginatorTrait};
use serde::Serialize;
use uuid::Uuid;
use vault::Vault;

use super::chain::{TrailEntry, link, sealed_after, unsealed};
use super::head::{AuditHead, Mac};
use crate::error::Error;
use crate::limits::{AUDIT_READ_AT_ONCE, AUDIT_RETENTION};
use crate::services::context::Context;

/// Something in the trail that is not as the server left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum AuditFinding {
    /// An entry was changed or moved to another number, or the server never sealed it.
    Changed {
        /// The number that it claims.
        number: i64,
        /// Its id, if that is one.
        entry: Option<Uuid>,
    },
    /// Entries were deleted.
    Missing {
        /// The number of the first one.
        from: i64,
        /// The number of the last one.
        to: i64,
    },
    /// An entry does not follow the one before: the trail's links were changed.
    Unlinked {
        number: i64,
        /// Its id.
        entry: Option<Uuid>,
    },
    /// The head is gone, or was replaced by another or an older one.
    Head,
    /// A line of the anchor is no head of this trail.
    AnchorLine {
        /// Counted from 1.
        line: usize,
    },
    /// The anchor knows entries that the trail no longer has at its end.
    CutOff {
        /// The anchor's line.
        line: usize,
        /// The number of the first missing entry.
        from: i64,
        /// The number of the last one that the anchor knows.
        to: i64,
    },
    /// The anchor knows another trail up to an entry: this one was rewritten, or continued from an older backup.
    Rewritten {
        /// The anchor's line.
        line: usize,
        /// The entry's number.
        number: i64,
    },
    /// Entries are removed by age, and the anchor shows that they are younger.
    RemovedYoung {
        /// The anchor's line.
        line: usize,
        /// The number of the last entry that is too young.
        number: i64,
    },
}

impl fmt::Display for AuditFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |entry: Option<Uuid>| entry.map_or_else(String::new, |entry| format!(" ({entry})"));
        match self {
            Self::Changed { number, entry } => {
                write!(f, "entry {number}{} was changed, moved or never sealed", named(*entry))
            }
            Self::Missing { from, to } if from == to => write!(f, "entry {from} is missing"),
            Self::Missing { from, to } => write!(f, "entries {from} to {to} are missing"),
            Self::Unlinked { number, entry } => {
                write!(f, "entry {number}{} does not follow the one before it", named(*entry))
            }
            Self::Head => write!(f, "the head of the trail is gone, changed or too old"),
            Self::AnchorLine { line } => write!(f, "line {line} of the anchor is no head of this trail"),
            Self::CutOff { line, from, to } => {
                write!(
                    f,
                    "the trail is cut off before entry {from}: line {line} of the anchor knows it up to {to}"
                )
            }
            Self::Rewritten { line, number } => {
                write!(
                    f,
                    "the trail up to entry {number} is not the one that line {line} of the anchor knows"
                )
            }
            Self::RemovedYoung { line, number } => {
                write!(f, "entry {number} was removed by age, and line {line} of the anchor knows it younger")
            }
        }
    }
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Entries that are as they were sealed.
    pub verified: u64,
    /// Entries that are not sealed yet.
    pub unsealed: u64,
    /// The number of entries that were removed after their retention.
    pub removed: i64,
    /// The number of the last entry that the anchor knows.
    pub anchored: Option<i64>,
    pub findings: u64,
}

/// Verifies the trail, and `anchor`, lines of heads in their order, against it. Passes each finding to `on_finding`.
pub async fn verify(
    ctx: &Context,
    anchor: &str,
    on_finding: impl FnMut(&AuditFinding) + Send,
) -> Result<AuditReport, Error> {
    let snapshot = ctx.store.snapshot().await?;
    let mut walk = Walk::begin(&ctx.vault, ctx.clock.now() - AUDIT_RETENTION, on_finding);
    walk.read_anchor(anchor);
    walk.read_head(&snapshot).await?;
    let mut last = (i64::MIN, Uuid::nil());
    loop {
        let entries = sealed_after(last).into_model::<TrailEntry>().all(&snapshot).await?;
        for entry in &entries {
            walk.check(entry);
        }
        let Some(entry) = entries.last().filter(|_| entries.len() as u64 == AUDIT_READ_AT_ONCE) else {
            break;
        };
        let Some(number) = entry.number else { break };
        last = (number, entry.id.unwrap_or_default());
    }
    walk.end();
    Ok(AuditReport { unsealed: unsealed().count(&snapshot).await?, ..walk.report })
}

/// A walk along the trail.
struct Walk<'a, F> {
    vault: &'a Vault,
    /// The time after which a sealed entry is too young to be removed.
    old_until: Timestamp,
    on_finding: F,
    report: AuditReport,
    /// `None` if it is gone or was changed.
    head: Option<AuditHead>,
    /// The number that comes next; `None` before the first entry of a trail without a head.
    next: Option<i64>,
    /// The link of the entry before; `None` if that entry is missing or was changed.
    link: Option<Mac>,
    /// Numbers, from the next one on, of entries that are reported already.
    reported: BTreeSet<i64>,
    /// By number: the lines of the anchor and their links. A head knows two entries, the last one and the last removed one.
    anchors: BTreeMap<i64, Vec<(usize, Mac)>>,
    /// By number: the lines of the anchor, and from when its last entry is kept.
    kept_from: BTreeMap<i64, (usize, i64)>,
}

impl<'a, F: FnMut(&AuditFinding)> Walk<'a, F> {
    fn begin(vault: &'a Vault, old_until: Timestamp, on_finding: F) -> Self {
        let (report, head, next, link) = Default::default();
        let (reported, anchors, kept_from) = Default::default();
        Self { vault, old_until, on_finding, report, head, next, link, reported, anchors, kept_from }
    }

    fn report(&mut self, finding: &AuditFinding) {
        self.report.findings += 1;
        (self.on_finding)(finding);
    }

    fn read_anchor(&mut self, anchor: &str) {
        for (text, line) in anchor.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty()) {
            match AuditHead::parse(self.vault, text) {
                Some(head) => {
                    self.kept_from.insert(head.number, (line, head.kept_from));
                    self.anchors.entry(head.number).or_default().push((line, head.link));
                    if head.removed > 0 && head.removed < head.number {
                        self.anchors.entry(head.removed).or_default().push((line, head.removed_link));
                    }
                }
                // The beginning of a head, which a full disk has cut off, hides nothing: an anchor may have gaps.
                None if is_cut_off(text) => {}
                None => self.report(&AuditFinding::AnchorLine { line }),
            }
        }
        self.report.anchored = self.anchors.last_key_value().map(|(number, _)| *number);
    }

    async fn read_head(&mut self, db: &impl ConnectionTrait) -> Result<(), Error> {
        let row = AuditHead::find(db).await?;
        self.head = row.and_then(|row| AuditHead::parse(self.vault, &row.value));
        // Every database has one.
        let Some(AuditHead { removed, removed_link, .. }) = self.head else {
            self.report(&AuditFinding::Head);
            return Ok(());
        };
        self.report.removed = removed;
        (self.next, self.link) = (Some(removed + 1), Some(removed_link));
        self.check_removed(removed);
        self.compare_anchors(removed, self.link);
        Ok(())
    }

    /// Compares the anchor's lines of removed entries with each other and with the retention.
    fn check_removed(&mut self, removed: i64) {
        let later = self.anchors.split_off(&removed);
        for (number, lines) in std::mem::replace(&mut self.anchors, later) {
            let others = lines.iter().filter(|(_, link)| *link != lines[0].1);
            others.for_each(|(line, _)| self.report(&AuditFinding::Rewritten { line: *line, number }));
        }
        // Of entries in their order each is kept from when its predecessor is, or later.
        let youngest = self.kept_from.range(..=removed).next_back();
        if let Some((&number, &(line, from))) = youngest
            && from > self.old_until.millis()
        {
            self.report(&AuditFinding::RemovedYoung { line, number });
        }
    }

    fn check(&mut self, entry: &TrailEntry) {
        let next = self.next;
        let Some((number, mac)) =
            entry.verified(self.vault).filter(|(number, _)| next.is_none_or(|next| *number >= next))
        else {
            let number = entry.number.unwrap_or_default();
            self.reported.insert(number);
            return self.report(&AuditFinding::Changed { number, entry: entry.id });
        };
        if let Some(next) = next {
            self.report_missing(next, number - 1);
        }
        let found = entry.link.as_deref().and_then(|link| link.try_into().ok()).map(Mac);
        let expected = self.link.map(|before| link(self.vault, before, mac));
        if found.is_none() || expected.is_some_and(|expected| Some(expected) != found) {
            self.report(&AuditFinding::Unlinked { number, entry: entry.id });
        } else {
            self.report.verified += 1;
        }
        self.next = Some(number + 1);
        self.link = expected.or(found);
        self.compare_anchors(number, self.link);
    }

    /// Reports the numbers that no entry has, but those of entries that are reported already. The link is unknown then.
    fn report_missing(&mut self, from: i64, to: i64) {
        if from > to {
            return;
        }
        self.link = None;
        let later = self.reported.split_off(&(to + 1));
        let reported = std::mem::replace(&mut self.reported, later);
        let mut from = from;
        for number in reported.range(from..).copied().chain([to + 1]) {
            if from < number {
                self.report(&AuditFinding::Missing { from, to: number - 1 });
            }
            from = number + 1;
        }
    }

    /// Compares the anchor's links of an entry.
    fn compare_anchors(&mut self, number: i64, link: Option<Mac>) {
        for (line, anchored) in self.anchors.remove(&number).unwrap_or_default() {
            if link.is_some_and(|link| link != anchored) {
                self.report(&AuditFinding::Rewritten { line, number });
            }
        }
    }

    fn end(&mut self) {
        let last = self.next.map_or(0, |next| next - 1);
        match self.head.clone() {
            Some(head) if head.number < last => self.report(&AuditFinding::Head),
            Some(head) => {
                self.report_missing(last + 1, head.number);
                if self.link.is_some_and(|link| link != head.link) {
                    self.report(&AuditFinding::Head);
                }
            }
            None => {}
        }
        let end = self.head.as_ref().map_or(last, |head| head.number);
        let beyond = self.anchors.split_off(&(end + 1));
        if let Some((to, lines)) = beyond.last_key_value()
            && let Some((line, _)) = lines.first()
        {
            let cut_off = AuditFinding::CutOff { line: *line, from: end + 1, to: *to };
            self.report(&cut_off);
        }
    }
}

/// Returns whether a line of an anchor is the beginning of a head, which a full disk or a loss of power has cut off.
fn is_cut_off(line: &str) -> bool {
    const HEAD_START: &str = "{\"number\":";
    !line.ends_with('}') && (line.starts_with(HEAD_START) || HEAD_START.starts_with(line))
}
