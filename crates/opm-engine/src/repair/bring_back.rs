//! Parts of a damaged record that had moved into record Secrets, because they were too large.
//!
//! What cannot be had counts as damaged.

use opm_core::record::moved::put_back_part;
use opm_core::record::{
    Body, Change, PartLocation, RecordPart, SalvagedRecord, decode_kept, decode_pending,
};

use crate::report::Release;
use crate::run::Run;

impl Run<'_> {
    /// Brings back inventories, and what is pending and kept.
    pub(super) async fn bring_back(
        &self,
        release: &Release,
        salvaged: &mut SalvagedRecord,
        warnings: &mut Vec<String>,
    ) {
        let current = salvaged.index.as_ref().map(|ids| ids.first().cloned());
        for (id, mut change) in std::mem::take(&mut salvaged.changes) {
            // Only the current one's has to be there; without an index, any may be it.
            let needed = current
                .as_ref()
                .is_none_or(|first| first.as_ref() == Some(&id));
            if needed
                && change.inventory.here().is_none()
                && let Err(why) = self.inventory_back(release, &mut change).await
            {
                warnings.push(format!("the inventory of {id} is lost: {why}"));
                continue;
            }
            salvaged.changes.insert(id, change);
        }
        self.pending_back(release, salvaged, warnings).await;
        self.kept_back(release, salvaged, warnings).await;
    }

    async fn inventory_back(&self, release: &Release, change: &mut Change) -> Result<(), String> {
        let held = change.record.as_ref();
        let held = held.and_then(|record| record.parts.get(&RecordPart::Inventory));
        let held = held.ok_or_else(|| "nothing says where it is".to_owned())?;
        let payload = self
            .moved(release, RecordPart::Inventory.word(), held)
            .await?;
        put_back_part(change, RecordPart::Inventory, &payload)
            .map_err(|finding| finding.to_string())
    }

    async fn pending_back(
        &self,
        release: &Release,
        salvaged: &mut SalvagedRecord,
        warnings: &mut Vec<String>,
    ) {
        let Some(pending) = &mut salvaged.pending else {
            return;
        };
        let Some(held) = pending.held.take() else {
            return;
        };
        let read = self.moved(release, "pending", &held).await;
        match read.and_then(|bytes| decode_pending(&bytes).map_err(|f| f.to_string())) {
            Ok(objects) => {
                pending.objects = Body::Here(objects);
                pending.count = None;
            }
            Err(why) => {
                warnings.push(format!("what was pending is lost: {why}"));
                salvaged.pending = None;
            }
        }
    }

    async fn kept_back(
        &self,
        release: &Release,
        salvaged: &mut SalvagedRecord,
        warnings: &mut Vec<String>,
    ) {
        let Some(kept) = &mut salvaged.kept else {
            return;
        };
        let Some(held) = kept.held.take() else {
            return;
        };
        let read = self.moved(release, "kept", &held).await;
        match read.and_then(|bytes| decode_kept(&bytes).map_err(|f| f.to_string())) {
            Ok(objects) => {
                kept.objects = objects;
                kept.count = None;
            }
            Err(why) => {
                warnings.push(format!("what was kept is lost: {why}"));
                salvaged.kept = None;
            }
        }
    }

    async fn moved(
        &self,
        release: &Release,
        key: &str,
        held: &PartLocation,
    ) -> Result<Vec<u8>, String> {
        let read = self.read_payload(release, key, held).await;
        read.map_err(|error| error.to_string())
    }
}
