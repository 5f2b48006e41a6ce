//! What the engine logs, as plain lines between those of the story's makers.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// From now on, everything that is logged is printed.
pub(crate) fn show() {
    // Fails only where somebody shows logs already.
    let _ = tracing::subscriber::set_global_default(Lines(AtomicU64::new(1)));
}

struct Lines(AtomicU64);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        use fmt::Write as _;
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("opm")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(format!("  {} {{", span.metadata().name()));
        span.record(&mut line);
        println!("{} }}", line.0);
        Id::from_u64(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut line = Line(format!("  {} {}:", metadata.level(), metadata.target()));
        event.record(&mut line);
        println!("{}", line.0);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
