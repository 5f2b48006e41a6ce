//! A command as it was called: with these settings, on this terminal, until it is interrupted.

use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::ui::Ui;

/// What every command that waits for something needs.
pub(crate) struct Invocation<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) ui: Ui,
    pub(crate) interrupt: Interrupt,
}

impl<'a> Invocation<'a> {
    /// Begins to listen for interrupts.
    pub(crate) fn new(settings: &'a Settings, ui: &Ui) -> Self {
        Self {
            settings,
            ui: *ui,
            interrupt: Interrupt::listen(*ui),
        }
    }
}
