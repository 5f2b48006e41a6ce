//! Stories that chance alone seldom tells. One of them begins every second history, with what it
//! is about drawn anew, and chance adds the rest. `requests` has those that are about clients and
//! their requests, `objects` those in which something befalls objects.

mod objects;
mod requests;

use fastrand::Rng;

use super::cast::Cast;
use super::{ClientPlan, Meddle, Meddling, Outage, Step, Weather};

/// How a history begins.
#[derive(Debug, Default)]
pub(super) struct OpeningStory {
    pub(super) clients: Vec<ClientPlan>,
    pub(super) meddling: Vec<Meddling>,
    pub(super) weather: Vec<Weather>,
}

impl OpeningStory {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let cast = &Cast::draw(rng);
        let mut opening = Self::default();
        let tell = [
            Self::race,
            Self::late,
            Self::late_removal,
            Self::cut_adoption,
            Self::cut_taking,
            Self::way_back,
            Self::failures,
            Self::lost_record,
            Self::snatched,
            Self::parting,
            Self::kept,
            Self::cut_short,
            Self::unseen,
            Self::deleted,
            Self::rebuilt,
            Self::record_as_object,
            Self::overtaken,
            Self::estranged,
            Self::hooked,
            Self::housed,
            Self::defined,
            Self::watched,
        ];
        tell[rng.usize(..tell.len())](&mut opening, rng, cast);
        opening
    }

    fn client(&mut self, steps: Vec<Step>) {
        self.clients.push(ClientPlan {
            clock_error: 0,
            clock_rate: 1_000,
            steps,
        });
    }

    fn meddle(&mut self, at: u64, what: Meddle) {
        self.meddling.push(Meddling { at, what });
    }

    fn outage(&mut self, from: u64, until: u64, what: Outage) {
        self.weather.push(Weather { from, until, what });
    }
}
