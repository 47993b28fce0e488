//! Evidence batch (specification, Dispute).

use entity::evidence::EvidenceKind;
use macros::view;

use crate::services::disputes::params::for_evidence_kinds;
use crate::services::files::view::File;

macro_rules! evidence_batch {
    ($($kind:ident $(#[$example:meta])? $file:ident $text:ident,)+) => {
        /// The evidence of a dispute; fields without evidence are absent.
        #[view]
        #[derive(Default)]
        pub struct EvidenceBatch {$(
            /// The file; absent if there is none.
            #[serde(skip_serializing_if = "Option::is_none")]
            $file: Option<File>,
            /// The text; absent if there is none.
            #[serde(skip_serializing_if = "Option::is_none")]
            $text: Option<String>,
        )+}

        impl EvidenceBatch {
            pub fn set(&mut self, kind: EvidenceKind, file: Option<File>, text: Option<String>) {
                match kind {
                    $(EvidenceKind::$kind => (self.$file, self.$text) = (file, text),)+
                }
            }
        }
    };
}
for_evidence_kinds!(evidence_batch);
