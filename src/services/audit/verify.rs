//! Verifies the audit trail: every sealed entry is as it was sealed, none is missing, and the anchor's heads fit
//! (`docs/decisions.md`, 385). Only reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use entity::audit_entry::{Column, Entity};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect,
};
use serde::Serialize;
use uuid::Uuid;

use super::chain::{AuditHead, Mac, TrailEntry, link, unsealed};
use crate::error::Error;
use crate::limits::AUDIT_READ_AT_ONCE;
use crate::services::context::Context;
use crate::vault::Vault;

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
        /// Its number.
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
    /// The number of findings.
    pub findings: u64,
}

/// Verifies the trail, and `anchor`, lines of heads in their order, against it. Passes each finding to `on_finding`.
pub async fn verify(
    ctx: &Context,
    anchor: &str,
    on_finding: impl FnMut(&AuditFinding) + Send,
) -> Result<AuditReport, Error> {
    let snapshot = ctx.store.snapshot().await?;
    let mut walk = Walk::begin(&ctx.vault, on_finding);
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

fn sealed_after((number, id): (i64, Uuid)) -> sea_orm::Select<Entity> {
    let same = Condition::all().add(Column::Number.eq(number)).add(Column::Id.gt(id));
    Entity::find()
        .filter(Column::Number.is_not_null())
        .filter(Condition::any().add(Column::Number.gt(number)).add(same))
        .order_by_asc(Column::Number)
        .order_by_asc(Column::Id)
        .limit(AUDIT_READ_AT_ONCE)
}

/// A walk along the trail.
struct Walk<'a, F> {
    vault: &'a Vault,
    on_finding: F,
    report: AuditReport,
    /// `None` if it is gone or was changed.
    head: Option<AuditHead>,
    /// Whether there is a head, even a changed one.
    has_head: bool,
    /// The number that comes next; `None` before the first entry of a trail without a head.
    next: Option<i64>,
    /// The link of the entry before; `None` if that entry is missing or was changed.
    link: Option<Mac>,
    /// Numbers, from the next one on, of entries that are reported already.
    reported: BTreeSet<i64>,
    /// By number: the lines of the anchor and their links.
    anchors: BTreeMap<i64, Vec<(usize, Mac)>>,
}

impl<'a, F: FnMut(&AuditFinding)> Walk<'a, F> {
    fn begin(vault: &'a Vault, on_finding: F) -> Self {
        let (report, head, has_head, next, link) = Default::default();
        let (reported, anchors) = Default::default();
        Self { vault, on_finding, report, head, has_head, next, link, reported, anchors }
    }

    fn report(&mut self, finding: &AuditFinding) {
        self.report.findings += 1;
        (self.on_finding)(finding);
    }

    fn read_anchor(&mut self, anchor: &str) {
        for (text, line) in anchor.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty()) {
            match AuditHead::parse(self.vault, text) {
                Some(head) => self.anchors.entry(head.number).or_default().push((line, head.link)),
                None => self.report(&AuditFinding::AnchorLine { line }),
            }
        }
        self.report.anchored = self.anchors.last_key_value().map(|(number, _)| *number);
    }

    async fn read_head(&mut self, db: &impl ConnectionTrait) -> Result<(), Error> {
        let row = AuditHead::find(db).await?;
        self.has_head = row.is_some();
        self.head = row.as_ref().and_then(|row| AuditHead::parse(self.vault, &row.value));
        match &self.head {
            Some(head) => {
                self.report.removed = head.removed;
                (self.next, self.link) = (Some(head.removed + 1), Some(head.removed_link));
                self.compare_anchors(head.removed, self.link);
            }
            None if self.has_head => self.report(&AuditFinding::Head),
            None => {}
        }
        Ok(())
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
            // A trail of which nothing is sealed has none, and a changed one is reported already.
            None if self.next.is_some() && !self.has_head => self.report(&AuditFinding::Head),
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
