//! Watches the head of the audit trail: a server that has seen a head neither seals nor anchors a trail that is older
//! (`docs/decisions.md`, 385).

use entity::installation;

use super::anchor::AuditAnchor;
use super::chain;
use super::head::{AuditHead, tampered};
use crate::error::Error;
use crate::services::context::Context;

/// The heads of the trail that a running server knows. Nobody can reset them in the database.
#[derive(Debug, Default)]
pub struct TrailWatch {
    /// The last head that the server has seen, in the database or in the anchor.
    seen: Option<AuditHead>,
    /// The last one that the server has written to the anchor.
    anchored: Option<AuditHead>,
}

impl TrailWatch {
    /// Seals the entries that are committed by now, unless the trail is older than a head that the server has seen.
    pub async fn seal(&mut self, ctx: &Context) -> Result<(), Error> {
        self.check(ctx).await?;
        chain::seal(ctx).await.map(drop)
    }

    /// Writes the head to the configured anchor, unless it was written before or nothing is sealed.
    pub async fn write_anchor(&mut self, ctx: &Context) -> Result<(), Error> {
        let Some(anchor) = &ctx.settings.audit_anchor else { return Ok(()) };
        let (text, head) = self.check(ctx).await?;
        if head.number == 0 || self.anchored.as_ref() == Some(&head) {
            return Ok(());
        }
        let written = anchor.write(&head, &text).await;
        written.map_err(|error| Error::internal(format!("the anchor of the audit trail: {error}")))?;
        self.anchored = Some(head);
        Ok(())
    }

    /// Returns the present head. It may not be before one that the server has seen, or that the anchor had when the server started.
    async fn check(&mut self, ctx: &Context) -> Result<(String, AuditHead), Error> {
        let (mut row, mut head) = present(ctx).await?;
        if self.seen.is_none()
            && let Some(anchor) = &ctx.settings.audit_anchor
        {
            self.seen = last_anchored(anchor, ctx, &head).await;
            // Again: another server may have sealed meanwhile, and anchored that.
            (row, head) = present(ctx).await?;
        }
        if self.seen.as_ref().is_some_and(|seen| !head.follows(seen)) {
            return Err(tampered(
                "the audit trail is not the one that this server or its anchor knows, or older",
            ));
        }
        self.seen = Some(head.clone());
        Ok((row.value, head))
    }
}

async fn present(ctx: &Context) -> Result<(installation::Model, AuditHead), Error> {
    AuditHead::require(&ctx.vault, AuditHead::find(ctx.store.read()).await?)
}

/// Returns the anchor's last head. An anchor that cannot be read, because it may only be written, knows nothing here.
async fn last_anchored(anchor: &AuditAnchor, ctx: &Context, head: &AuditHead) -> Option<AuditHead> {
    anchor.last(&ctx.vault, head).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the anchor of the audit trail cannot be read; only audit verify compares it");
        None
    })
}
