//! The window that limits a consumer while no Data carries a rate: its own node has the content, or no router
//! on the path runs MIRCC. Then arriving Data are the only feedback, so the limit is a window W of pending
//! Interests:
//!
//! > W ← W + 1/W at each Data, while W·S_D/RTT is less than the assumed rate of a face of unknown rate
//! > W ← max(1, W/2) at a loss, once a round trip
//!
//! The bound is needed for content stores. They answer every Interest at once, and W grows. When the stored content
//! ends, all W Interests would go into the network.

use weir_core::seam::{DataReceived, LossEvent};
use weir_core::units::{Bytes, Rate};

/// The window of a consumer without rates.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnratedWindow {
    window: f64,
    /// The rate above which W does not grow.
    most: Rate,
    /// The first segment whose loss lowers W again. Earlier ones belong to the round trip that has already
    /// lowered W.
    lowers_from: u64,
}

impl UnratedWindow {
    pub(super) fn new(most: Rate) -> UnratedWindow {
        UnratedWindow { window: 1.0, most, lowers_from: 0 }
    }

    /// Resets the window, because a Data carried a rate.
    pub(super) fn reset(&mut self) {
        *self = UnratedWindow::new(self.most);
    }

    /// W, Interests.
    pub(super) fn window(&self) -> f64 {
        self.window
    }

    pub(super) fn permits(&self, pending: u32) -> bool {
        f64::from(pending) + 1.0 <= self.window
    }

    /// Counts a Data without rates, and the size of such Data.
    pub(super) fn on_data(&mut self, ev: &DataReceived<'_>, size: Bytes) {
        let Some(srtt) = ev.srtt else { return };
        if self.window * (size.bits() as f64) < self.most.as_bps_f64() * srtt.as_secs_f64() {
            self.window += 1.0 / self.window;
        }
    }

    pub(super) fn on_loss(&mut self, ev: &LossEvent<'_>) {
        if ev.segment >= self.lowers_from {
            self.window = (self.window / 2.0).max(1.0);
            self.lowers_from = ev.highest_sent.saturating_add(1);
        }
    }
}
